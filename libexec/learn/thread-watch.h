/* Observes one thread of the user. The observer needs no special rights. */
#ifndef RTF_LEARN_THREAD_WATCH_H
#define RTF_LEARN_THREAD_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "behaviour.h"
#include "bursts.h"
#include "samples.h"
#include "switches.h"

enum watch_source {
    WATCH_SWITCHES, /* the kernel records exactly when the thread gets a CPU and leaves its CPU */
    WATCH_SAMPLES   /* the caller looks at the thread each millisecond */
};

struct thread_watch {
    pid_t tid;
    char name[17];
    enum watch_source source;
    int schedstat;             /* a descriptor */
    struct switches *switches; /* NULL: the source is WATCH_SAMPLES */
    struct samples samples;
    struct bursts bursts;
    /* The scheduler charges a thread for more CPU time than the time between its switches. When
     * schedstat is read while the thread sleeps, the sum of the bursts until this reading can be
     * corrected. is_charged: there was such a reading. */
    bool is_charged;
    int64_t charged;    /* schedstat.ran at the last such reading, ns */
    unsigned failures;  /* readings since the last such reading at which the thread did not sleep */
    bool is_paused;     /* the switches are not recorded until the next look */
    size_t corrected;   /* the number of bursts until the last such reading */
    int64_t begin, end; /* when the thread was looked at first and last, ns of CLOCK_MONOTONIC */
    struct schedstat first, last;
    uint64_t first_sleeps, last_sleeps; /* how often the thread has gone to sleep in its life */
    size_t looks, ready_looks, timed_sleeps, other_sleeps; /* as in struct observed */
    /* the time since which the thread has not slept, ns; 0: the thread sleeps */
    int64_t awake_since;
    bool has_ended;
};

/* Begins to observe the thread. If source is WATCH_SWITCHES and the kernel refuses perf events,
 * uses WATCH_SAMPLES. False: errno says why; ESRCH: there is no such thread. */
bool thread_watch_open(struct thread_watch *watch, pid_t tid, enum watch_source source);

/* Takes the recorded switches of the thread. Call this after each burst. */
void thread_watch_drain(struct thread_watch *watch);

/* Takes the recorded switches, and looks at the thread's name and state. Call this each 100 ms. */
void thread_watch_look(struct thread_watch *watch, int64_t now);

/* Takes a sample of the thread, if the source is WATCH_SAMPLES. Call this each millisecond. */
void thread_watch_sample(struct thread_watch *watch, int64_t now);

/* Returns the shortest period that the source can show, in ns. */
int64_t thread_watch_shortest_period(const struct thread_watch *watch);

struct observed thread_watch_observed(const struct thread_watch *watch);

/* Forgets all bursts until now. */
void thread_watch_forget(struct thread_watch *watch);

void thread_watch_close(struct thread_watch *watch);

#endif
