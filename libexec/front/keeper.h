/* The keeper of a thread: a child process that asks for the thread's reservation, and then becomes
 * rtf-adapt(1), which keeps the reservation at what the thread uses. Each thread has its own
 * keeper, so a request that takes long, or fails, does not delay the requests of other threads. */
#ifndef RTF_KEEPER_H
#define RTF_KEEPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "learn-result.h"

struct keeper_order {
    pid_t process, thread;
    const char *name; /* of the thread */
    struct learned_reservation wish;
    uint64_t least;   /* the least useful runtime, us */
    uint64_t timeout; /* us */
    /* For a trial, us: the reservation ends after this time, and its runtime does not follow the
     * thread. 0: the reservation has no such end, and follows the thread. */
    uint64_t trial;
    bool is_verbose;
    bool is_silent; /* the keeper prints no refusal, because an earlier keeper has printed it */
};

/* Starts a keeper, and returns its process; -1: errno says why. The keeper writes to the pipe
 * `grants` when the reservation is granted. */
pid_t keeper_start(const struct keeper_order *order, int grants);

/* Reads from the pipe which thread's reservation is granted; 0: the pipe is empty. Does not
 * block. */
pid_t keeper_granted(int grants);

/* True: the process has ended, and *status is as waitpid(2) stores it. Does not block. */
bool keeper_has_ended(pid_t keeper, int *status);

/* Ends the process, and leaves the reservation as it is. */
void keeper_end(pid_t keeper);

#endif
