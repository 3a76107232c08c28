/* Computes which runtime a periodic thread needs next. This file makes no system calls, and uses
 * only integers. The law: the runtime is the CPU time of the longest of the last jobs, plus a
 * margin. A thread that is late never sleeps, so the end of its jobs is not seen. Then, after two
 * periods without a sleep, the runtime grows by half. Small differences change nothing. */
#ifndef RTF_LEARN_ADAPT_LAW_H
#define RTF_LEARN_ADAPT_LAW_H

#include "bursts.h"

enum { ADAPT_WINDOW_MAX = 1000, ADAPT_LEAST = 100 /* us: the kernel's usual least runtime */ };

enum adapt_reason {
    ADAPT_NOTHING,
    ADAPT_LONGER,    /* jobs have become longer */
    ADAPT_SHORTER,   /* jobs have become shorter */
    ADAPT_SATURATED, /* the thread has not slept for two periods, so no job has ended */
    ADAPT_OFFER,     /* the broker has refused a larger runtime, and would grant this runtime */
    ADAPT_LIMIT      /* the runtime in force is not within the limits */
};

struct adapt_limits {
    uint64_t least, most; /* the limits of the runtime, us */
    /* margin: percent; window: the number of last jobs, at most ADAPT_WINDOW_MAX */
    unsigned margin, window;
};

struct adapt_wish {
    enum adapt_reason reason;
    uint64_t runtime; /* us */
};

struct adapt_law {
    struct adapt_limits limits;
    uint64_t runtime, period;       /* the granted runtime and period, us */
    int64_t jobs[ADAPT_WINDOW_MAX]; /* the CPU time of the last jobs, ns */
    size_t count, next;
    struct burst job; /* the job that has begun last */
    bool has_job;
    int64_t activation; /* the expected beginning of `job`, ns */
    /* ns of CLOCK_MONOTONIC. changed: the time of the last answer of the broker. grow_from: the
     * runtime does not grow before this time */
    int64_t changed, grow_from;
    int64_t back_off; /* ns: the time from a refusal to the next try to grow */
    /* the runtime that the broker would grant after a refusal, us; 0: none */
    uint64_t offer;
};

void adapt_law_begin(struct adapt_law *law, const struct adapt_limits *limits, int64_t now);

/* Takes the next burst of the thread. */
void adapt_law_take(struct adapt_law *law, const struct burst *burst);

/* Returns the longest of the last jobs, in ns; 0: no job is known. */
int64_t adapt_law_longest(const struct adapt_law *law);

/* Returns the next change of the runtime. awake_since: the time since which the thread has not
 * slept; 0: the thread sleeps. */
struct adapt_wish adapt_law_wish(const struct adapt_law *law, int64_t now, int64_t awake_since);

/* Call this when the broker has granted the wish, and `runtime` is in force. */
void adapt_law_granted(struct adapt_law *law, const struct adapt_wish *wish, uint64_t runtime,
                       int64_t now);

/* Call this when the broker has refused the wish. nearest: the largest runtime that the broker
 * would grant, in us; nearest_minimum: the least runtime that it would grant; 0: none. */
void adapt_law_refused(struct adapt_law *law, const struct adapt_wish *wish, uint64_t nearest,
                       uint64_t nearest_minimum, int64_t now);

/* Returns the name of the reason, such as "longer". */
const char *adapt_reason_name(enum adapt_reason reason);

#endif
