/* struct sched_attr of sched_setattr(2), under another name: <linux/sched/types.h> conflicts with
 * <sched.h> on Debian 12, and glibc defines the struct only from version 2.41 on. Times are
 * nanoseconds. */
#ifndef RTF_SCHEDATTR_H
#define RTF_SCHEDATTR_H

#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

struct kernel_sched_attr {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
    uint32_t util_min, util_max;
};

static inline int sched_setattr_of(pid_t tid, const struct kernel_sched_attr *attr)
{
    return (int)syscall(SYS_sched_setattr, tid, attr, 0);
}

static inline int sched_getattr_of(pid_t tid, struct kernel_sched_attr *attr)
{
    return (int)syscall(SYS_sched_getattr, tid, attr, sizeof *attr, 0);
}

#endif
