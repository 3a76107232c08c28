/* Changes the scheduling of threads: of users' threads for rtf-attach and rtf-detach, and of
 * SCHED_DEADLINE threads for rtf-guard. retry.h makes the calls, demote.h takes a thread out of
 * SCHED_DEADLINE, cpuset-leaf.h moves a thread from one domain to another, kernel-refusal.h
 * explains a refusal.
 *
 * Each function names the thread by its id and a time at which the thread had that id (thread.h).
 * The function holds a pidfd of the thread during its kernel calls, and checks the pidfd after the
 * calls. If another thread has got the id meanwhile, the function undoes the change of the other
 * thread. A caller that opened a pidfd when it identified the thread passes the pidfd in the
 * target, and still owns it: this saves two reads of /proc. After REFUSED and BUSY, *reason has the
 * cause. */
#ifndef RTF_SCHEDULING_H
#define RTF_SCHEDULING_H

#include <stdint.h>
#include <sys/types.h>

#include "demote.h"
#include "apply-result.h"
#include "thread.h"

/* Returns a time in us for the last call. After APPLY_PENDING, the caller repeats the call when
 * this time has passed: the thread has used up its runtime, and for this time the kernel still
 * counts the thread's bandwidth in the scheduling domain that the thread has to leave. If the time
 * is 0, the caller repeats the call when the thread has run. After APPLY_DONE: the time for which
 * the kernel still counts the bandwidth that the thread had before. */
uint64_t scheduling_counted_us(void);

struct target {
    pid_t tid;
    uint64_t started_by;
    int pidfd; /* owned by the caller; -1: none */
};

/* How a thread moves between domains (cpuset-domains.h). If `group` is NULL, the thread stays in
 * its cgroup. */
struct placement {
    const char *group; /* NULL, or the cpuset group that the thread came from */
    /* true: if the thread can only be moved with its whole process, the whole process moves */
    bool whole_process;
};

/* Makes the thread real-time: gives it the policy, parameters and CPUs of *wanted. The real,
 * effective and saved uid of the thread, and its uid for files, must be `owner`. owner 0: the
 * thread may belong to any user, but must not be a kernel thread. After REFUSED or BUSY the thread
 * has its former attributes. */
enum apply_result scheduling_apply(const struct target *target, uid_t owner,
                                   const struct attributes *wanted,
                                   const struct placement *placement,
                                   char reason[static APPLY_REASON]);

/* Tests with a child process whether the kernel accepts SCHED_DEADLINE threads that may use all of
 * these CPUs. The kernel accepts them if the CPUs are one whole scheduling domain. */
enum apply_result scheduling_probe(const cpu_set_t *cpus, char reason[static APPLY_REASON]);

/* Changes priority and CPUs of a thread under the policy of *wanted. After REFUSED or BUSY the
 * thread has its former attributes. */
enum apply_result scheduling_adjust(const struct target *target, const struct attributes *wanted,
                                    const struct placement *placement,
                                    char reason[static APPLY_REASON]);

/* Gives the thread its former attributes back. First makes the thread ordinary, then moves it to
 * its former cgroup and CPUs, then makes it real-time if its former policy is real-time. */
enum apply_result scheduling_restore(const struct target *target, const struct attributes *former,
                                     const struct placement *placement,
                                     char reason[static APPLY_REASON]);

/* scheduling_suspend makes a SCHED_DEADLINE thread ordinary, and scheduling_resume makes it
 * SCHED_DEADLINE again; the thread stays in its domain. The caller keeps *overrun from one call to
 * the next, {0} at first. After scheduling_suspend, overrun->counted_us has to pass before
 * scheduling_resume. REFUSED: call again later. PENDING: call again when the thread is known to be
 * awake. */
void scheduling_suspend(const struct target *target, struct overrun *overrun);
enum apply_result scheduling_resume(const struct target *target, const struct attributes *granted,
                                    const struct overrun *overrun);

/* Ends the reclaiming of a SCHED_DEADLINE thread (attributes.reclaim). A thread that has become
 * ordinary meanwhile stays ordinary. False: the kernel refuses, and the thread still reclaims. */
bool scheduling_end_reclaim(const struct target *target);

#endif
