/* Computes the time that k consecutive jobs of a thread took (the separation): the longest and the
 * shortest time (paper 004, section 3.1, step 3), the mean (equation 20) and the variance (equation
 * 21). Marks are the beginnings of jobs in ns, in ascending order.
 *
 * A window of length k is k consecutive jobs. All windows of all lengths cost marks^2 / 2
 * differences. If there are at least SEPARATIONS_EXACT marks, only some of the k above
 * SEPARATIONS_DENSE are computed (with all their windows). Each of these k is larger than the k
 * before by the factor 1 + 1/SEPARATIONS_DENSE. The longest and the shortest time grow with k, so
 * the times of an omitted k lie between the times of the computed k below and above. Therefore
 * bounds made from the computed k hold. They differ from the exact bounds by less than
 * 1/SEPARATIONS_DENSE of the work in the interval, on the safe side. */
#ifndef RTF_MUSE_SEPARATIONS_H
#define RTF_MUSE_SEPARATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEPARATIONS_EXACT = 1 << 18, SEPARATIONS_DENSE = 1 << 12 };

struct separations {
    size_t count;                /* number of entries, the first for k = 0; 0: there are no marks */
    int64_t *jobs;               /* the number of jobs k of each entry, ascending */
    int64_t *longest, *shortest; /* ns */
    double *mean, *variance;     /* ns, ns^2; NULL: not asked for */
    bool dense;                  /* every k is included */
};

/* Computes the separations. False: out of memory. dense_below: SEPARATIONS_EXACT, except in
 * tests. */
bool separations_compute(const int64_t *marks, size_t count, bool statistics, size_t dense_below,
                         struct separations *separations);

void separations_free(struct separations *separations);

#endif
