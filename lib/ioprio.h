/* The I/O priority of a thread: ioprio_set(2), for which glibc has no wrapper. */
#ifndef RTF_IOPRIO_H
#define RTF_IOPRIO_H

#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Above all best-effort threads, and below all other threads of the real-time class: ionice(1) and
 * systemd give level 4 by default. */
enum { IOPRIO_RAISED = IOPRIO_CLASS_RT << IOPRIO_CLASS_SHIFT | 7 };

/* The I/O priority that was set; -1 with errno. The kernel accepts only level 0 for the class
 * "none". */
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
