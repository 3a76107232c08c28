/* Raises a process's limit of locked memory (RLIMIT_MEMLOCK), and lowers the limit again, also for
 * the processes that have inherited the raised limit. */
#ifndef RTF_INHERITED_LOCK_LIMIT_H
#define RTF_INHERITED_LOCK_LIMIT_H

#include <sys/types.h>

#include "apply-result.h"
#include "lock-limit.h"

struct limited {
    pid_t process;
    uint64_t started_by; /* the process began at this time or earlier (thread.h) */
    uid_t owner;         /* the owner of the reservation */
    bool has_owner;      /* false: `owner` is unset, and the process's real user counts */
    uint64_t since;      /* a time before the first raise, in clock ticks since boot */
    struct lock_limit limit;
};

/* Sets the limit of the process as limited->limit says. If the limit becomes higher, all uids of
 * the process must be the owner's. If the function lowers the limit and returns APPLY_GONE or
 * APPLY_DONE, no other process of the owner still has the raised limit. */
enum apply_result lock_memory_limit(const struct limited *limited,
                                    char reason[static APPLY_REASON]);

#endif
