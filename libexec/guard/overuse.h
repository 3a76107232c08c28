/* Counts how much more CPU time a SCHED_DEADLINE thread has had than it was granted.
 *
 * The kernel throttles such a thread when its runtime is used up, but not while a SCHED_DEADLINE
 * thread that waits for a lock lends its rank to it. So a thread that has more than its grant is
 * lent to by somebody, even if no report says so (boost-reports.h).
 *
 * The count is a leaky bucket: it rises with the CPU time of the thread, and falls by one runtime in
 * a period. A constant bandwidth server gives a thread at most U*t + 2*Q in any time t (U: the
 * utilization, Q: the runtime), and one tick more where the tick ends a runtime. All times are ns. */
#ifndef RTF_OVERUSE_H
#define RTF_OVERUSE_H

#include <stdint.h>

struct overuse {
    int64_t at;    /* the time of the last count, CLOCK_MONOTONIC; 0: nothing is counted */
    int64_t ran;   /* the thread's CPU time then */
    int64_t level; /* 0 or more */
};

/* Counts from now on. `ran`: the CPU time that the thread has had since its start. */
void overuse_begin(struct overuse *overuse, int64_t now, int64_t ran);

/* Brings the count up to now. */
void overuse_count(struct overuse *overuse, int64_t now, int64_t ran, int64_t runtime,
                   int64_t period);

/* The thread was ordinary until now: the CPU time that it had meanwhile does not count. ran -1:
 * unknown. */
void overuse_skip(struct overuse *overuse, int64_t ran);

/* A known lender has paid for this time. */
void overuse_pay(struct overuse *overuse, int64_t time);

/* Returns the time beyond the grant, and forgets it; 0: none. `lent`: what a known lender pays for, but
 * has not paid yet (overuse_pay). */
int64_t overuse_take(struct overuse *overuse, int64_t runtime, int64_t tick, int64_t lent);

#endif
