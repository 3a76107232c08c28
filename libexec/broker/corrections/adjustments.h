/* A correction is an order to the attach helper to change an attached thread without a request of
 * its owner. The broker remembers the correction until the helper answers the order. */
#ifndef RTF_ADJUSTMENTS_H
#define RTF_ADJUSTMENTS_H

#include "reservation.h"

/* A correction: the thread gets the priority or CPU to which a plugin has moved it, less runtime,
 * or a watch (attachments.h). `id` is the id of the order to the helper. */
struct adjustment {
    uint64_t id, task, started_by;
    pid_t tid, process;
    /* the sentence of the verdict when the helper has obeyed; NULL: no verdict is written */
    const char *told;
    bool watch; /* the order is for a watch */
    bool count; /* the order is for an event that counts CPU time (adjustments_count) */
    struct attributes former;
    UT_hash_handle hh;
};

/* Remembers that the helper has the order `id` to correct the thread: a plugin has moved its
 * priority or CPU, the grant is less than before, or the thread no longer runs as granted. `told`
 * must live until the answer. */
void adjustments_expect(const struct reservation *reservation, uint64_t id, const char *told);

/* Asks the helper for a watch of the thread: from the helper's answer on, the end and the execve(2)
 * of the thread are events. */
void adjustments_watch(struct reservation *reservation);

/* Makes the guard enforce the thread's runtime, and watch its priority inheritance, again: for
 * example after a new guard has started. */
void adjustments_guard_again(struct reservation *reservation);

/* The guard needs an event that counts the CPU time of the SCHED_DEADLINE thread. */
void adjustments_count(struct reservation *reservation);

/* True: the helper has the order to apply the grant to this thread, and has not answered yet. */
bool is_adjusted(const struct attachment *attachment);

/* Removes and returns the correction whose order has this id. The caller frees the correction.
 * NULL: no correction has this id. */
struct adjustment *adjustments_take(uint64_t id);

#endif
