/* The threads that rtf-run --learn follows. Each thread that needs a reservation has a child
 * process, its keeper (keeper.h), which asks for the reservation and adapts it. */
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
    /* How many observations have shown the present period, and the longest job in them, ns. The
     * second observation replaces the first, because the first includes the start of the program,
     * which is no job. */
    unsigned observations;
    int64_t longest;
    /* The reservation to ask for, from the last observation with a period. .runtime 0: nothing is
     * to be reserved. */
    struct learned_reservation wish;
    uint64_t least; /* the least useful runtime, us */
    /* A thread that waits for CPUs shows no period. A trial is one generous reservation for some
     * seconds: with it the thread waits less, so that its period can be seen. */
    bool wants_trial, had_trial;
    /* the reservation that would fit all jobs so far; .period 0: none */
    struct learned_reservation reservation;
    /* the process id of the keeper; 0: there is no keeper */
    pid_t keeper;
    bool is_granted, is_refused, is_released;
    bool has_ended;
    int64_t retry;    /* no keeper starts before this time, ns */
    int64_t back_off; /* ns */
};

struct followed {
    pid_t process;
    uint64_t timeout; /* us, of each request */
    bool is_verbose;
    int grants[2]; /* a pipe: readable when a reservation is granted */
    struct followed_thread *threads;
    size_t count;
};

/* Opens the pipe `grants`. False: errno says why. */
bool followed_open(struct followed *followed);

/* Takes what an observation of the process says about its threads. is_short: the process has ended
 * during the observation. Then the observation counts only for new threads, and as the second
 * observation of a thread. */
void followed_take(struct followed *followed, const struct learned *learned, bool is_short);

/* Starts the keepers that are due, and notes which keepers have ended. Returns when the next keeper
 * is due, in ns; INT64_MAX: none is. */
int64_t followed_serve(struct followed *followed, int64_t now);

/* Ends all keepers. Most keepers end by themselves when their threads have ended. So this function
 * first waits for them, until the time `end` (ns) at most. signals: a signalfd(2) that becomes
 * readable when a child process has ended. */
void followed_end(struct followed *followed, int signals, int64_t end);

#endif
