/* Concludes from records what happened to each reserved thread: when it ran, waited for a CPU, or
 * was throttled; when its runtime was replenished; its jobs, and which of them were late.
 *
 * A job begins when the thread is woken, and ends when the thread goes to sleep. Its absolute
 * deadline is its beginning plus the deadline of the reservation.
 *
 * rtf-guard makes a thread that has used up its runtime ordinary until its next period. While such a
 * thread has no CPU, it counts as throttled.
 *
 * Where an event is lost (lost-events.h), the time that is not known becomes SPAN_LOST. The timeline
 * guesses nothing. */
#ifndef RTF_WATCH_TIMELINE_H
#define RTF_WATCH_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.h"

enum span_kind {
    /* the spans of other kinds within its time belong to it; value: the deadline of the job, ns; 0:
     * the job has none */
    SPAN_JOB,
    SPAN_RUNNING, /* on the CPU `cpu`; value 1: the thread was ordinary when it got the CPU */
    SPAN_WAITING, /* for a CPU */
    /* value: the time until which the thread is throttled, ns; 0: not known in advance */
    SPAN_THROTTLED,
    SPAN_LOST,        /* not known: an event is lost */
    MARK_REPLENISHED, /* value: the deadline after the replenishment, ns; 0: not known */
    MARK_MISSED,      /* a deadline passes, and the job has not ended; value: the job's number */
    MARK_MIGRATED,    /* the thread moves to the CPU `cpu` */
    SPAN_KINDS
};

/* A span, or a mark: then `from` and `to` are the same. */
struct span {
    int64_t from, to; /* ns, CLOCK_MONOTONIC */
    int64_t value;
    uint32_t thread; /* index of timeline.threads */
    uint32_t job; /* the number of the job, from 1; 0: no job, or a job whose beginning is lost */
    uint16_t cpu;
    uint8_t kind;
};

struct traced {
    /* set by the caller: the thread, and what its reservation grants, ns; 0: not stated */
    pid_t tid;
    int64_t runtime, period, deadline;
    bool real_time; /* the grant has a real-time policy */
    /* results */
    int64_t ran, waited, throttled; /* ns */
    uint32_t throttles, replenishments, migrations, jobs, missed;
    uint32_t lost; /* how many gaps the chain of this thread has */
    int64_t lost_time;
    bool seen, ended;
};

struct timeline {
    int64_t begin, end;
    struct traced *threads; /* the caller's array, sorted by tid */
    size_t thread_count;
    /* by the times of their beginning; if several begin at the same time, the longest is first */
    struct span *spans;
    size_t span_count;
    uint64_t *gaps; /* for each CPU: how often the chain of its threads is broken */
    unsigned cpus;
};

/* Fills the timeline from the records between `begin` and `end`. The records are in the order of
 * their times. False: there is no memory. */
bool timeline_build(struct timeline *timeline, const struct record *records, size_t count);

/* Returns the index of the thread; thread_count: it is not traced. */
size_t timeline_find(const struct timeline *timeline, pid_t tid);

void timeline_free(struct timeline *timeline);

#endif
