/* How long k consecutive jobs of a thread took: the longest and the shortest (paper 004, section 3.1, step 3), their mean (20) and their
 * variance (21). Marks are the beginnings of jobs, in ns, not falling.
 *
 * All k, each over all its windows, cost marks^2 / 2 differences. From SEPARATIONS_EXACT marks on only some k above SEPARATIONS_DENSE are
 * looked at, each over all its windows: each is 1/SEPARATIONS_DENSE larger than the one before. The longest and the shortest time rise with
 * k, so a k that is left out lies between its neighbours: bounds that are made from the others hold, and differ from those of all k by less
 * than 1/SEPARATIONS_DENSE of the work in the interval, towards the safe side. */
#ifndef RTF_MUSE_SEPARATIONS_H
#define RTF_MUSE_SEPARATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEPARATIONS_EXACT = 1 << 18, SEPARATIONS_DENSE = 1 << 12 };

struct separations {
    size_t count;                /* of entries; the first is k = 0. 0: there are no marks */
    int64_t *jobs;               /* k, rising */
    int64_t *longest, *shortest; /* ns */
    double *mean, *variance;     /* ns, ns^2; NULL: not asked for */
    bool dense;                  /* each k is there */
};

/* False: out of memory. `dense_below`: SEPARATIONS_EXACT, but for tests. */
bool separations_compute(const int64_t *marks, size_t count, bool statistics, size_t dense_below, struct separations *separations);

void separations_free(struct separations *separations);

#endif
