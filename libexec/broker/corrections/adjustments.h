/* What the helper has been told without a request. */
#ifndef RTF_ADJUSTMENTS_H
#define RTF_ADJUSTMENTS_H

#include "reservation.h"

/* A priority or CPU that moved on a plugin's word, less runtime, and a watch. */
struct adjustment {
    uint64_t id, task, started_by;
    pid_t tid, process;
    const char *told; /* to its owner, when it has followed; NULL: nothing */
    bool watch;
    struct attributes former;
    UT_hash_handle hh;
};

/* The helper has been told, with this id, what a thread has to follow: what a plugin has moved, less of what it had, or what it
 * has drifted from. `told` stays. */
void adjustments_expect(const struct reservation *reservation, uint64_t id, const char *told);

/* From the answer on, the end of the thread is told, and its execve, whatever it did before. */
void adjustments_watch(struct reservation *reservation);

/* Nobody has an eye on what it uses, or lends, any more. */
void adjustments_guard_again(struct reservation *reservation);

/* The helper has been told to make it what is granted, and has not answered. */
bool is_adjusted(const struct attachment *attachment);

/* What the answer with this id is about, to be freed; NULL: nothing here. */
struct adjustment *adjustments_take(uint64_t id);

#endif
