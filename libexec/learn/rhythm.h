/* Finds the period of a thread in its bursts (bursts.h). This file makes no system calls, and uses
 * only integers. Times are in ns.
 *
 * Each candidate for the period is followed through the bursts. The next activation is expected one
 * period after the last activation, and a burst near this time is the activation. A candidate
 * passes if nearly all activations are there, and if the bursts leave a part of the period empty.
 * The second condition refuses threads that wake up at random times. The smallest candidate that
 * passes is the period. */
#ifndef RTF_LEARN_RHYTHM_H
#define RTF_LEARN_RHYTHM_H

#include "bursts.h"

struct rhythm {
    int64_t period;
    int64_t jitter;      /* the mean distance of an activation from its expected time */
    unsigned confidence; /* 0 to 100 */
    /* The expected beginning of each period. The bursts that begin between one beginning and the
     * next beginning are one job. */
    int64_t *begins;
    size_t count;
};

/* Finds the period. False: the bursts have no period of at least `shortest`, or there is no
 * memory. */
bool rhythm_find(const struct bursts *bursts, int64_t shortest, struct rhythm *rhythm);
void rhythm_free(struct rhythm *rhythm);

#endif
