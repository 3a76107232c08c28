/* The keeper of a thread: a child process that asks for the thread's reservation, and then becomes
 * rtf-adapt(1), which keeps the reservation at what the thread uses. So a request that takes long,
 * or fails, holds up nobody else. */
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
    uint64_t least;   /* us: less runtime is of no use */
    uint64_t timeout; /* us */
    /* us: the reservation ends after this time, and nothing follows the thread meanwhile; 0: a
     * reservation without end */
    uint64_t trial;
    bool is_verbose;
    bool is_silent; /* says nothing about a refusal: an earlier keeper has said it */
};

/* Starts a keeper, and returns its process; -1 with errno. The keeper writes to the pipe `grants`
 * when the reservation is granted. */
pid_t keeper_start(const struct keeper_order *order, int grants);

/* Reads from the pipe which thread's reservation is granted; 0: no other. Does not block. */
pid_t keeper_granted(int grants);

/* True: the process has ended, and *status is as waitpid(2) stores it. Does not block. */
bool keeper_has_ended(pid_t keeper, int *status);

/* Ends the process, and leaves the reservation as it is. */
void keeper_end(pid_t keeper);

#endif
