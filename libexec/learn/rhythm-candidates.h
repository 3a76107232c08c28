/* Guesses which times could be the period of a thread (rhythm.h). */
#ifndef RTF_LEARN_RHYTHM_CANDIDATES_H
#define RTF_LEARN_RHYTHM_CANDIDATES_H

#include "bursts.h"

enum { CANDIDATES_MAX = 64 };

/* Writes the candidates in ascending order, and returns their number. The candidates are the
 * medians of the time from a burst to each of the next bursts, for jobs of one burst or of always
 * the same number of bursts; and the most frequent distances of bursts, for jobs of different
 * numbers of bursts. A candidate may be some percent away from the period. */
size_t rhythm_candidates(const struct bursts *bursts, int64_t candidates[static CANDIDATES_MAX]);

#endif
