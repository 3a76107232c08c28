/* The threads that rtf-run --learn follows: what is known about each of them, and the keeper of its
 * reservation. */
#ifndef RTF_FOLLOWED_H
#define RTF_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "keeper.h"
#include "learn-result.h"

struct followed_thread {
    pid_t tid;
    char name[LEARNED_NAME];
    enum behaviour behaviour; /* in the last observation */
    /* The longest job, in ns. The first observation with a period counts only until the second,
     * because the start of a program is no job. */
    unsigned observations;
    int64_t longest;
    /* The result of the last observation with a period. .runtime 0: nothing is to be reserved. */
    struct learned_reservation wish;
    uint64_t least; /* us: less runtime is of no use */
    /* A thread that waits for CPUs shows no period. Such a thread gets one generous reservation for
     * some seconds, so that its period can be seen. */
    bool wants_trial, had_trial;
    struct learned_reservation reservation; /* for all jobs so far; .period 0: none */
    pid_t keeper;                           /* the process; 0: none */
    bool is_granted, is_refused, is_released;
    bool has_ended;
    int64_t retry;    /* no keeper begins before this time, ns */
    int64_t back_off; /* ns */
};

struct followed {
    pid_t process;
    uint64_t timeout; /* us: of each request */
    bool is_verbose;
    int grants[2]; /* a pipe: readable when a reservation is granted */
    struct followed_thread *threads;
    size_t count;
};

/* Fills in the pipe. False with errno. */
bool followed_open(struct followed *followed);

/* Takes what an observation of the process says about its threads. is_short: the end of the process
 * has cut the observation short, so the observation only counts for threads that are new. */
void followed_take(struct followed *followed, const struct learned *learned, bool is_short);

/* Starts the keepers that are due, and notes which have ended. Returns the time of the next call
 * that could start one, in ns; INT64_MAX: none. */
int64_t followed_serve(struct followed *followed, int64_t now);

/* Ends all keepers. Most have ended with their threads: waits for them, at most until the time
 * `end` (ns). signals: a signalfd(2) that becomes readable when a child process has ended. */
void followed_end(struct followed *followed, int signals, int64_t end);

#endif
