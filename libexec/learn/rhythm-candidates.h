/* Guesses which times could be the period of a thread; rhythm.h tests these candidates. */
#ifndef RTF_LEARN_RHYTHM_CANDIDATES_H
#define RTF_LEARN_RHYTHM_CANDIDATES_H

#include "bursts.h"

enum { CANDIDATES_MAX = 64 };

/* Writes the candidates in ascending order, and returns their number. There are two kinds of
 * candidates. The first kind is for jobs that always have the same number of bursts: the median
 * time from a burst to the next burst, to the burst after the next, and so on. The second kind is
 * for jobs with different numbers of bursts: the most frequent times between two bursts. A
 * candidate may be some percent away from the period. */
size_t rhythm_candidates(const struct bursts *bursts, int64_t candidates[static CANDIDATES_MAX]);

#endif
