/* The conclusions of rtf-learn(1) about each thread, and the spec that rtf-learn makes from
 * them. */
#ifndef RTF_LEARN_RESULT_H
#define RTF_LEARN_RESULT_H

#include <jansson.h>

#include "learn/behaviour.h"
#include "learn/job-times.h"
#include "learn/observer.h"

enum { LEARNED_NAME = sizeof((struct thread_watch *)0)->name };

/* us. 0: there is no reservation, for example because the jobs take longer than the period. */
struct learned_reservation {
    uint64_t runtime, period;
};

struct learned_thread {
    const struct thread_watch *watch;
    struct observed observed;
    enum behaviour behaviour;
    /* The following members are set only for a periodic thread. */
    int64_t period;      /* ns */
    unsigned confidence; /* percent */
    struct job_times times;
    struct learned_reservation reserved; /* what is to be reserved */
};

struct learned {
    struct learned_thread *threads;
    size_t count;
};

/* Sets *reservation for one job in each period, if a job takes at most `longest` (both ns). False:
 * no reservation can hold such jobs. */
bool learned_reservation(int64_t longest, int64_t period, struct learned_reservation *reservation);

/* Adds a rule for threads of this name to an array of rules. Threads of the same name have one rule,
 * so the rule has the longest runtime and the shortest period of these threads. */
void learned_add_rule(json_t *rules, const char *name,
                      const struct learned_reservation *reservation);

/* Judges all threads. False: there is no memory. */
bool learned_make(const struct observer *observer, struct learned *learned);
void learned_free(struct learned *learned);

/* Returns the spec for the thread that has a period, or a spec with rules for threads if several
 * threads have a period. The caller owns the spec. NULL: no thread can have a reservation. */
json_t *learned_spec(const struct learned *learned, pid_t process);

#endif
