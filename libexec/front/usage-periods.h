/* Measures how much CPU time a thread uses in each of its periods, by looking at the thread twice a
 * period.
 *
 * For a SCHED_DEADLINE thread the kernel tells how much is left of the present runtime, and the
 * deadline of this runtime. From one look at any time follows how long the thread had run when the
 * present period began. From looks in two successive periods follows the exact use of the first
 * period, even if both looks are late. For other threads the time between two looks, a window as
 * long as a period, takes the place of a period. Windows do not begin together with the thread's
 * own periods. */
#ifndef RTF_USAGE_PERIODS_H
#define RTF_USAGE_PERIODS_H

#include <stddef.h>

#include "usage-look.h"

/* The 99th percentile is taken from the last PERIODS_KEPT periods only, because a measurement may
 * last for days. */
enum { PERIODS_KEPT = 1 << 17 };

struct periods {
    uint64_t runtime, period; /* ns; runtime 0: none */
    /* The deadline is shorter than the period. Then the kernel may lower the rest of the runtime
     * when the thread wakes. So this rest tells nothing about the use. */
    bool is_constrained;
    struct look first, last;
    bool is_kernels; /* true: the present period is a period of the kernel; false: it is a window */
    /* The present period of the kernel. began: the CPU time of the thread at the beginning of the
     * period, plus the overrun of the period before. carried: the overrun of the period before.
     * over: the overrun in the present period, if a look has seen it. was_used_up and slept_before:
     * the period before used up its runtime, and `slept` in its last look. */
    int64_t began;
    uint64_t carried, over;
    bool is_used_up, was_used_up;
    uint64_t slept_before;
    /* The present window. */
    struct look window;
    bool was_stopped;
    uint64_t rest; /* ns of lost windows that are not in `lost` yet: less than a period */
    /* is_throttled: a look has seen the beginning of a throttle, and not yet its end.
     * waited_before: `waited` at that time. */
    bool is_throttled;
    uint64_t waited_before;
    /* The results. knows_kernel: some periods are periods of the kernel, so that `overruns` and
     * `throttled` are known. */
    bool knows_kernel;
    uint64_t count, lost, least, most, saturated, overruns, throttles, throttled;
    uint64_t *kept; /* the use in each of the last PERIODS_KEPT periods */
    size_t size;
};

/* Takes the first look. Times are ns. */
void periods_begin(struct periods *periods, uint64_t runtime, uint64_t period, bool is_constrained,
                   const struct look *look);

void periods_take(struct periods *periods, const struct look *look);

/* Returns the mean CPU time in a time as long as a period. Lost periods count, too. */
uint64_t periods_mean(const struct periods *periods);

/* Returns the least use that 99 of 100 kept periods do not exceed; 0: there is no period. Sorts the
 * kept periods. */
uint64_t periods_99(struct periods *periods);

void periods_end(struct periods *periods);

#endif
