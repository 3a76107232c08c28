/* Locks the memory of a program, so that the program does not wait for the disk while real-time
 * threads wait for the program.
 *
 * MCL_FUTURE makes allocations beyond RLIMIT_MEMLOCK (mostly 8 MiB) fail for a process without
 * CAP_IPC_LOCK. Such a process locks only its present memory. Root in a container mostly has the
 * capability, but may not raise the limit. */
#ifndef RTF_LOCK_MEMORY_H
#define RTF_LOCK_MEMORY_H

#include <linux/capability.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* True if this process has CAP_IPC_LOCK. Makes a system call instead of using libcap-ng, because
 * rtf-reader and the plugins include this header without linking libcap-ng. */
static inline bool may_lock_memory(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct powers[_LINUX_CAPABILITY_U32S_3];
    return syscall(SYS_capget, &header, powers) == 0 &&
           (powers[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK)) != 0;
}

static inline bool memory_is_unlimited(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* Both functions lock present memory, and also future memory if later allocations cannot fail
 * because of the limit. how: 0 or MCL_ONFAULT. False: errno says why. memory_lock is for a process
 * that keeps CAP_IPC_LOCK. memory_lock_without_power is for a process that will drop
 * CAP_IPC_LOCK. */
static inline bool memory_lock(int how)
{
    return mlockall(MCL_CURRENT | (memory_is_unlimited() || may_lock_memory() ? MCL_FUTURE : 0) |
                    how) == 0;
}

static inline bool memory_lock_without_power(int how)
{
    return mlockall(MCL_CURRENT | (memory_is_unlimited() ? MCL_FUTURE : 0) | how) == 0;
}

#endif
