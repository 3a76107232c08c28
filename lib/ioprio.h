/* The I/O priority of a thread: ioprio_set(2), for which glibc has no wrapper. */
#ifndef RTF_IOPRIO_H
#define RTF_IOPRIO_H

#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* The lowest level of the real-time class: above all best-effort threads, and below other threads
 * of the class, which mostly have level 4, the default of ionice(1) and systemd. */
enum { IOPRIO_RAISED = IOPRIO_CLASS_RT << IOPRIO_CLASS_SHIFT | 7 };

/* Returns the I/O priority that was set for the thread; -1: errno says why. If the class is "none",
 * returns 0: the caller sets the priority again later, and then the kernel accepts this class only
 * with level 0. */
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
