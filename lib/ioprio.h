/* The I/O priority of a thread: ioprio_set(2), for which glibc has no wrapper. */
#ifndef RTF_IOPRIO_H
#define RTF_IOPRIO_H

#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Before all that is best-effort, and after all of this class that anybody else has set: ionice(1) and systemd give it level 4. */
enum { IOPRIO_RAISED = IOPRIO_CLASS_RT << IOPRIO_CLASS_SHIFT | 7 };

/* As it was set; -1 with errno. Of class none the kernel takes level 0 only. */
static inline int ioprio_of(pid_t tid)
{
    const int now = (int)syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, tid);
    return now >= 0 && IOPRIO_PRIO_CLASS(now) == IOPRIO_CLASS_NONE ? 0 : now;
}

static inline int ioprio_give(pid_t tid, int ioprio)
{
    return (int)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, tid, ioprio);
}

#endif
