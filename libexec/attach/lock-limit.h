/* Computes the limit of locked memory (RLIMIT_MEMLOCK) of a process when rtf raises the limit,
 * changes the raised limit, or restores the former limit. */
#ifndef RTF_LOCK_LIMIT_H
#define RTF_LOCK_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/* Bytes; 0: no reservation raises the limit. */
struct lock_limit {
    struct rlimit former; /* the limit before any reservation raised it */
    /* bytes that the process's reservations ask for: until now, and from now on */
    uint64_t was, is;
};

/* Returns the limit that replaces `now`. A user may have changed the limit since rtf set it: a
 * limit that the user has lowered stays lowered. If limit->is == 0, the soft and the hard limit are
 * at most the former hard limit. */
struct rlimit lock_limit_next(const struct lock_limit *limit, const struct rlimit *now);

#endif
