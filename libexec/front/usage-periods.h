/* How much CPU time a thread uses in each of its periods, from looks at it twice a period.
 *
 * Under SCHED_DEADLINE the kernel tells what is left of the present runtime, and the deadline of
 * this runtime. So a look at any time tells how long the thread had run when its present period
 * began, and two looks in successive periods tell the use of the first one exactly, even if both
 * looks are late. For other threads a window of the length of a period lies between two looks. Such
 * windows do not begin with the thread's own periods. */
#ifndef RTF_USAGE_PERIODS_H
#define RTF_USAGE_PERIODS_H

#include <stddef.h>

#include "usage-look.h"

/* The 99th percentile is of this number of periods at most: a measurement may last for days. */
enum { PERIODS_KEPT = 1 << 17 };

struct periods {
    uint64_t runtime, period; /* ns; runtime 0: none */
    /* The deadline is shorter than the period. Then the kernel may lower what is left of the
     * runtime when the thread wakes, so that this tells nothing about the use. */
    bool is_constrained;
    struct look first, last;
    bool is_kernels; /* the present period is the kernel's; else it is a window */
    /* The present period of the kernel. began: the CPU time at its beginning, plus what the thread
     * had overrun before. carried: that overrun. over: the overrun in this period, if it was seen.
     * before: the last look in the period before. */
    int64_t began;
    uint64_t carried, over;
    bool is_used_up, was_used_up;
    uint64_t slept_before;
    /* The present window. */
    struct look window;
    bool was_stopped;
    uint64_t rest; /* ns of lost windows that are not in `lost` yet: less than a period */
    /* An end of a throttle that has yet to be seen. */
    bool is_throttled;
    uint64_t waited_before;
    /* The results. knows_kernel: some periods are the kernel's, so overruns and throttled are
     * known. */
    bool knows_kernel;
    uint64_t count, lost, least, most, saturated, overruns, throttles, throttled;
    uint64_t *kept; /* the use in each of the last PERIODS_KEPT periods */
    size_t size;
};

/* Takes the first look. Times are ns. */
void periods_begin(struct periods *periods, uint64_t runtime, uint64_t period, bool is_constrained,
                   const struct look *look);

void periods_take(struct periods *periods, const struct look *look);

/* Returns the mean CPU time in the length of a period, also over periods that are lost. */
uint64_t periods_mean(const struct periods *periods);

/* Returns the least use that 99 of 100 kept periods do not exceed; 0: there is no period. Sorts the
 * kept periods. */
uint64_t periods_99(struct periods *periods);

void periods_end(struct periods *periods);

#endif
