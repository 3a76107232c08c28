/* How much CPU time attached threads use in each of their periods, for rtf-usage(1). The kernel
 * tells the sum of a thread's CPU time at any time; this code looks once a period, and only while it
 * runs. The windows are as long as a period, and need not begin with the thread's own period. */
#ifndef RTF_USAGE_THREADS_H
#define RTF_USAGE_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Times are ns. */
struct usage {
    char *name;
    pid_t tid;
    uint64_t runtime, period;
    int schedstat, timer; /* -1: the thread has ended */
    bool has_ended;
    uint64_t ran, ran_before; /* CPU time at the last look, and at the first */
    int64_t looked, began;
    uint64_t *windows; /* CPU time in each window */
    size_t count, size;
    uint64_t lost; /* windows that ended too late or too early, because this process had to wait */
    uint64_t saturated; /* windows in which the thread used its whole runtime */
    int64_t migrations; /* since the first look; -1: not known */
    int64_t migrations_before;
};

/* `mean` is of the whole time, also of the windows that are lost; the other figures are of the
 * windows. */
struct usage_figures {
    uint64_t least, mean, of_99, most;
};

/* Begins to look at the thread. False: the thread has ended, or cannot be looked at. */
bool usage_begin(struct usage *usage, const char *name, pid_t tid, uint64_t runtime_us,
                 uint64_t period_us);

/* Call this when the timer is readable. */
void usage_look(struct usage *usage);

/* Computes the figures. False: there is no window. Sorts the windows. */
bool usage_end(struct usage *usage, struct usage_figures *figures);

#endif
