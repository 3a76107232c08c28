/* Which runtime a periodic thread needs next. This file only computes, with integers. The law: the
 * longest of the last jobs and a margin. A thread that is late never sleeps, so its jobs have no
 * end: after two periods without an end the runtime grows by half. Small differences change
 * nothing. */
#ifndef RTF_LEARN_ADAPT_LAW_H
#define RTF_LEARN_ADAPT_LAW_H

#include "bursts.h"

enum { ADAPT_WINDOW_MAX = 1000, ADAPT_LEAST = 100 /* us: the usual limit */ };

enum adapt_reason {
    ADAPT_NOTHING,
    ADAPT_LONGER,    /* jobs have become longer */
    ADAPT_SHORTER,   /* jobs have become shorter */
    ADAPT_SATURATED, /* no job has ended for two periods */
    ADAPT_OFFER,     /* the broker has refused more, and offers this */
    ADAPT_LIMIT      /* what is in force is not within the limits */
};

struct adapt_limits {
    uint64_t least, most;    /* of the runtime, us */
    unsigned margin, window; /* percent; jobs, at most ADAPT_WINDOW_MAX */
};

struct adapt_wish {
    enum adapt_reason reason;
    uint64_t runtime; /* us */
};

struct adapt_law {
    struct adapt_limits limits;
    uint64_t runtime, period;       /* what is granted, us */
    int64_t jobs[ADAPT_WINDOW_MAX]; /* the CPU time of the last jobs, ns */
    size_t count, next;
    struct burst job; /* the job that has begun last */
    bool has_job;
    int64_t activation; /* the expected beginning of this job, ns */
    /* times in ns of CLOCK_MONOTONIC */
    int64_t changed, grow_from; /* the last answer; the runtime does not grow before grow_from */
    int64_t back_off;           /* ns: the time from a refusal to the next try to grow */
    uint64_t offer;             /* us; 0: none */
};

void adapt_law_begin(struct adapt_law *law, const struct adapt_limits *limits, int64_t now);

/* Takes the next burst of the thread. */
void adapt_law_take(struct adapt_law *law, const struct burst *burst);

/* Returns the longest of the last jobs, in ns; 0: no job is known. */
int64_t adapt_law_longest(const struct adapt_law *law);

/* Returns the next change. awake_since: the thread has not slept since then; 0: the thread
 * sleeps. */
struct adapt_wish adapt_law_wish(const struct adapt_law *law, int64_t now, int64_t awake_since);

/* The broker has granted the wish: this runtime is in force. */
void adapt_law_granted(struct adapt_law *law, const struct adapt_wish *wish, uint64_t runtime,
                       int64_t now);

/* The broker has refused the wish. nearest: the largest runtime that would be granted, and
 * nearest_minimum: the least, in us; 0: none. */
void adapt_law_refused(struct adapt_law *law, const struct adapt_wish *wish, uint64_t nearest,
                       uint64_t nearest_minimum, int64_t now);

/* "longer" */
const char *adapt_reason_name(enum adapt_reason reason);

#endif
