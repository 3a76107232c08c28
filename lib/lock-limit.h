/* Computes a process's limit of locked memory (RLIMIT_MEMLOCK) when rtf raises it, raises it
 * further, lowers it, or takes it back. */
#ifndef RTF_LOCK_LIMIT_H
#define RTF_LOCK_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/* Bytes; 0: no reservation raises the limit. */
struct lock_limit {
    struct rlimit former; /* before any reservation raised the limit */
    uint64_t was, is; /* what the reservations of the process ask for: before, and from now on */
};

/* The limit that follows `now`. A user may have changed the limit meanwhile: what the user has
 * lowered stays lowered. When is == 0, neither part is above the former hard limit. */
struct rlimit lock_limit_next(const struct lock_limit *limit, const struct rlimit *now);

#endif
