/* Observes a thread by its file schedstat in /proc, for kernels that refuse perf events. Each look
 * shows how much CPU time the thread has used, and how often it has got a CPU. So a burst begins at
 * the look that shows the thread on a CPU again. If the thread is preempted, one burst counts as
 * several. */
#ifndef RTF_LEARN_SAMPLES_H
#define RTF_LEARN_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bursts.h"

/* The numbers in schedstat. */
struct schedstat {
    int64_t ran, waited; /* ns */
    int64_t arrivals;    /* how often the thread has got a CPU */
};

/* Opens the file; -1: errno says why. */
int schedstat_open(pid_t tid);

/* Reads the numbers. False: the thread has ended. */
bool schedstat_read(int fd, struct schedstat *now);

/* The results of the last look. In a struct of zeros there was no look yet. */
struct samples {
    bool has_looked, is_open;
    int64_t looked; /* the time of the last look, ns */
    struct schedstat last;
    struct burst open;
};

/* Takes what a look at the time `now` has shown. */
void samples_take(struct samples *samples, int64_t now, const struct schedstat *seen,
                  struct bursts *bursts);

#endif
