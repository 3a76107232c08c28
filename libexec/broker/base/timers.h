/* All timers are in one queue, in the order of their times. Timers with the same time are in the
 * order in which they were set. */
#ifndef RTF_TIMERS_H
#define RTF_TIMERS_H

#include <bsd/sys/tree.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "clock.h"

/* A timer is a member of the structure that waits for the time. {0}: the timer is not set. */
struct timer {
    int64_t at; /* CLOCK_MONOTONIC, ns; 0: not set */
    /* called when the time has come, after the timer is unset; NULL: the code that has set the
     * timer looks at `at` after each turn of the loop */
    void (*due)(struct timer *timer);
    RB_ENTRY(timer) of_time;
};

/* Returns the structure whose member `member` is at `pointer`. */
#define container_of(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* timer_set: sets the timer to this time, which replaces the time set before. INT64_MAX: unsets the
 * timer. */
void timer_set(struct timer *timer, int64_t at);
void timer_end(struct timer *timer);

/* The first timer; NULL: none is set. */
const struct timer *timers_first(void);

/* The time until the first timer, in *left; NULL: none is set. */
const struct timespec *timers_left(struct timespec *left);

/* Calls the timers whose time has come. */
void timers_run(void);

#endif
