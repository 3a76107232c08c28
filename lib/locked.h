/* Who must answer beside real-time threads must not wait for the disk. */
#ifndef RTF_LOCKED_H
#define RTF_LOCKED_H

#include <cap-ng.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* What is locked for the future is no memory at all beyond the limit (RLIMIT_MEMLOCK, 8 MiB mostly), for a process without
 * CAP_IPC_LOCK: then only what there is now is locked. `how`: 0 or MCL_ONFAULT. False with errno. */
static inline bool memory_lock(int how)
{
    struct rlimit limit;
    bool unlimited = (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY) ||
                     (capng_get_caps_process() == 0 && capng_have_capability(CAPNG_EFFECTIVE, CAP_IPC_LOCK) == 1);
    return mlockall(MCL_CURRENT | (unlimited ? MCL_FUTURE : 0) | how) == 0;
}

#endif
