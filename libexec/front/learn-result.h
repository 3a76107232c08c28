/* The conclusions of rtf-learn(1) about each thread, and the spec that follows. */
#ifndef RTF_LEARN_RESULT_H
#define RTF_LEARN_RESULT_H

#include <jansson.h>

#include "learn/behaviour.h"
#include "learn/job-times.h"
#include "learn/observer.h"

struct learned_thread {
    const struct thread_watch *watch;
    struct observed observed;
    enum behaviour behaviour;
    /* of a periodic thread: */
    int64_t period;      /* ns */
    unsigned confidence; /* percent */
    struct job_times times;
    /* us: what is to be reserved; 0: the jobs take longer than the period */
    uint64_t reserved_runtime, reserved_period;
};

struct learned {
    struct learned_thread *threads;
    size_t count;
};

/* Judges all threads. False: no memory. */
bool learned_make(const struct observer *observer, struct learned *learned);
void learned_free(struct learned *learned);

/* Returns the spec: of one thread, or with rules for threads if several threads have a period. The
 * caller owns the spec. NULL: no thread can have a reservation. */
json_t *learned_spec(const struct learned *learned, pid_t process);

#endif
