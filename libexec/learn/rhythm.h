/* Finds the period of a thread in its bursts. This file only computes, with integers. Times are in
 * ns.
 *
 * Each candidate for the period is followed through the bursts: the next activation is expected one
 * period after the last, and a burst near that time is this activation. A candidate is a period if
 * nearly all activations are there, and if bursts leave a part of the period empty. The second
 * condition refuses threads that wake up at random. The smallest such candidate is the period. */
#ifndef RTF_LEARN_RHYTHM_H
#define RTF_LEARN_RHYTHM_H

#include "bursts.h"

struct rhythm {
    int64_t period;
    int64_t jitter;      /* the mean distance of an activation from its expected time */
    unsigned confidence; /* 0 to 100 */
    /* The expected beginning of each period: a job is the bursts that begin from here to the next
     * one. */
    int64_t *begins;
    size_t count;
};

/* False: the bursts have no period of at least `shortest`; or there is no memory. */
bool rhythm_find(const struct bursts *bursts, int64_t shortest, struct rhythm *rhythm);
void rhythm_free(struct rhythm *rhythm);

#endif
