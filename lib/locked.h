/* Who must answer beside real-time threads must not wait for the disk. */
#ifndef RTF_LOCKED_H
#define RTF_LOCKED_H

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* libcap-ng would read all of /proc/self/status, and the start of a reader is waited for. */
static inline bool may_lock_memory(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct powers[_LINUX_CAPABILITY_U32S_3];
    return syscall(SYS_capget, &header, powers) == 0 && (powers[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

/* What is locked for the future is no memory at all beyond the limit (RLIMIT_MEMLOCK, 8 MiB mostly), for a process without
 * CAP_IPC_LOCK: then only what there is now is locked. `how`: 0 or MCL_ONFAULT. False with errno. */
static inline bool memory_lock(int how)
{
    struct rlimit limit;
    bool unlimited = (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY) ||
                     may_lock_memory();
    return mlockall(MCL_CURRENT | (unlimited ? MCL_FUTURE : 0) | how) == 0;
}

#endif
