/* Observes one thread of the user's own, without rights. */
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
    WATCH_SWITCHES, /* exact: the kernel records when the thread gets a CPU and leaves it */
    WATCH_SAMPLES   /* the caller looks at the thread each millisecond */
};

struct thread_watch {
    pid_t tid;
    char name[17];
    enum watch_source source;
    int schedstat;             /* a descriptor */
    struct switches *switches; /* NULL: none, because the source is WATCH_SAMPLES */
    struct samples samples;
    struct bursts bursts;
    /* The scheduler charges a thread for more than the time between its switches. Where schedstat
     * was read while the thread slept, the bursts until then have their exact sum. */
    bool is_charged;
    int64_t charged;    /* schedstat.ran then, ns */
    unsigned failures;  /* to read it so, since the last time */
    bool is_paused;     /* the switches are not recorded until the next look */
    size_t corrected;   /* the number of bursts until then */
    int64_t begin, end; /* when the thread was looked at first and last, ns of CLOCK_MONOTONIC */
    struct schedstat first, last;
    uint64_t first_sleeps, last_sleeps; /* how often the thread has gone to sleep in its life */
    size_t looks, ready_looks, timed_sleeps, other_sleeps; /* as in struct observed */
    int64_t awake_since; /* the thread has not slept since then, ns; 0: it sleeps */
    bool has_ended;
};

/* source WATCH_SWITCHES: takes WATCH_SAMPLES if the kernel refuses perf events. False with errno;
 * ESRCH: there is no such thread. */
bool thread_watch_open(struct thread_watch *watch, pid_t tid, enum watch_source source);

/* Takes the switches of the thread. Call this after each burst. */
void thread_watch_drain(struct thread_watch *watch);

/* Takes all that has happened. Call this each 100 ms. */
void thread_watch_look(struct thread_watch *watch, int64_t now);

/* Looks at the thread, if the source is WATCH_SAMPLES. Call this each millisecond. */
void thread_watch_sample(struct thread_watch *watch, int64_t now);

/* Returns the shortest period that can be told from others, in ns. */
int64_t thread_watch_shortest_period(const struct thread_watch *watch);

struct observed thread_watch_observed(const struct thread_watch *watch);

/* Forgets the bursts. */
void thread_watch_forget(struct thread_watch *watch);

void thread_watch_close(struct thread_watch *watch);

#endif
