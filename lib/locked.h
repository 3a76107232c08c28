/* Who must answer beside real-time threads must not wait for the disk.
 *
 * What is locked for the future is no memory at all beyond the limit (RLIMIT_MEMLOCK, 8 MiB mostly), for a process without CAP_IPC_LOCK: there only
 * what there is now is locked. Root in a container mostly has that capability, and may not lift the limit. */
#ifndef RTF_LOCKED_H
#define RTF_LOCKED_H

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By the system call: rtf-reader and the plugins see this header, too, and are not linked with libcap-ng. */
static inline bool may_lock_memory(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct powers[_LINUX_CAPABILITY_U32S_3];
    return syscall(SYS_capget, &header, powers) == 0 && (powers[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

static inline bool memory_is_unlimited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* Both: `how` is 0 or MCL_ONFAULT; false with errno. The first is for who keeps CAP_IPC_LOCK if he has it, the second for who is about to give it up. */
static inline bool memory_lock(int how)
{
    return mlockall(MCL_CURRENT | (memory_is_unlimited() || may_lock_memory() ? MCL_FUTURE : 0) | how) == 0;
}

static inline bool memory_lock_without_power(int how)
{
    return mlockall(MCL_CURRENT | (memory_is_unlimited() ? MCL_FUTURE : 0) | how) == 0;
}

#endif
