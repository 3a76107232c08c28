/* Corrections of threads that no request asked for. The broker has told them to the attach helper,
 * and remembers them until the answer. */
#ifndef RTF_ADJUSTMENTS_H
#define RTF_ADJUSTMENTS_H

#include "reservation.h"

/* A correction: a priority or CPU that a plugin moved, less runtime, or a watch. */
struct adjustment {
    uint64_t id, task, started_by;
    pid_t tid, process;
    const char *told; /* the owner is told this when the thread has followed; NULL: nothing */
    bool watch;
    struct attributes former;
    UT_hash_handle hh;
};

/* The helper has been told with this id to correct the thread: a plugin has moved its priority or
 * CPU, the grant is less, or the thread has drifted from its grant. The caller does not free
 * `told`. */
void adjustments_expect(const struct reservation *reservation, uint64_t id, const char *told);

/* Asks the helper for a watch: from the answer on, the end and the execve(2) of the thread are
 * events. */
void adjustments_watch(struct reservation *reservation);

/* The guard was started again: it has to enforce the runtime of this thread, and to watch its
 * priority inheritance, again. */
void adjustments_guard_again(struct reservation *reservation);

/* The helper has been told to apply the grant to this thread, and has not answered yet. */
bool is_adjusted(const struct attachment *attachment);

/* Removes the correction to which this answer belongs. The caller frees it. NULL: the answer
 * belongs to no correction. */
struct adjustment *adjustments_take(uint64_t id);

#endif
