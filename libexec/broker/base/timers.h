/* What is to be done at some time: one queue for all who wait. In order of their times, and at one time in the order in which they were set. */
#ifndef RTF_TIMERS_H
#define RTF_TIMERS_H

#include <bsd/sys/tree.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "clock.h"

/* Part of whoever waits; {0} is not set, and has nothing to be ended. */
struct timer {
    int64_t at;                       /* CLOCK_MONOTONIC, ns; 0: it is not set */
    void (*due)(struct timer *timer); /* its time has come, and it is not set any more; NULL: who has set it looks after each turn of the loop */
    RB_ENTRY(timer) of_time;
};

/* The structure that this is the `member` of. */
#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

/* Instead of when it was set before, if it was. INT64_MAX: never. */
void timer_set(struct timer *timer, int64_t at);
void timer_end(struct timer *timer);

/* The first; NULL: none is set. */
const struct timer *timers_first(void);

/* How long it is until then, in *left; NULL: for ever. */
const struct timespec *timers_left(struct timespec *left);

/* Does what is due by now. */
void timers_run(void);

#endif
