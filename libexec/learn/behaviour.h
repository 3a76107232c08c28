/* Judges how a thread behaves, for example why it has no period. This file makes no system
 * calls. */
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
    BEHAVIOUR_TOO_FAST      /* wakes up more often than the observer looks at it */
};

struct observed {
    int64_t length;      /* how long the thread was observed, ns */
    int64_t ran, waited; /* how long the thread ran, and how long it waited for a CPU, ns */
    size_t wakeups;
    bool has_period;
    int64_t shortest_period; /* the shortest period that the observer can see, ns */
    /* looks: how often the observer looked at the thread. ready_looks: how often it saw the thread
     * running, or waiting for a CPU */
    size_t looks, ready_looks;
    /* timed_sleeps: how often the observer saw the thread asleep until a timer wakes it.
     * other_sleeps: how often it saw the thread asleep until something else wakes it */
    size_t timed_sleeps, other_sleeps;
};

enum behaviour behaviour_of(const struct observed *observed);

/* Returns the name of the behaviour, such as "event-driven". */
const char *behaviour_name(enum behaviour behaviour);

#endif
