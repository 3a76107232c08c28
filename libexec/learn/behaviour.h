/* Names how a thread behaves, for threads without a period. This file only computes. */
#ifndef RTF_LEARN_BEHAVIOUR_H
#define RTF_LEARN_BEHAVIOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum behaviour {
    BEHAVIOUR_PERIODIC,
    BEHAVIOUR_APERIODIC,    /* wakes up by timers, at irregular times */
    BEHAVIOUR_EVENT_DRIVEN, /* something else wakes the thread, at irregular times */
    BEHAVIOUR_HOG,          /* never sleeps, and has a CPU */
    BEHAVIOUR_STARVED,      /* never sleeps, and waits for a CPU */
    BEHAVIOUR_SLEEPING,     /* has hardly run */
    BEHAVIOUR_TOO_FAST      /* wakes up more often than the observer looks */
};

struct observed {
    int64_t length;      /* how long the thread was observed, ns */
    int64_t ran, waited; /* how long it ran, and waited for a CPU, ns */
    size_t wakeups;
    bool has_period;
    int64_t shortest_period; /* that the observer can see, ns */
    /* how often the thread was looked at, and was running or ready then */
    size_t looks, ready_looks;
    /* how often the thread was seen asleep for a time, and asleep until something else wakes it */
    size_t timed_sleeps, other_sleeps;
};

enum behaviour behaviour_of(const struct observed *observed);

/* "event-driven" */
const char *behaviour_name(enum behaviour behaviour);

#endif
