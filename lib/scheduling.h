/* What rtf-attach and rtf-detach do to a thread: with suspension.h the only scheduling calls on users' threads.
 * retry.h makes the calls, demote.h leads out of SCHED_DEADLINE, cpuset-leaf.h from one domain to another, kernel-refusal.h explains.
 *
 * Every call names the thread by its id and a time at which it had that (thread.h), holds a pidfd over the call and looks again
 * after it, so that nothing is done to a thread that took the id over. Who has a pidfd that was the thread's then passes
 * it along, and keeps it: that spares two looks into /proc. A refusal by the kernel is explained. */
#ifndef RTF_SCHEDULING_H
#define RTF_SCHEDULING_H

#include <stdint.h>
#include <sys/types.h>

#include "demote.h"
#include "apply-result.h"
#include "thread.h"

/* After PENDING: us until the same call can go on, because the kernel still counts the bandwidth of the thread, which has
 * used up its runtime, in the domain that it is to leave; 0: when it runs. After APPLY_DONE: how long the kernel goes on counting what it had. */
uint64_t scheduling_owed(void);

struct target {
    pid_t tid;
    uint64_t started_by;
    int pidfd; /* -1: none */
};

/* What domains are left for. Without a group the thread is where it always was, and nobody asks. */
struct placement {
    const char *group;  /* the cpuset group that it came from; NULL */
    bool whole_process; /* all threads may be moved with it */
};

/* Who may be touched: threads whose real, effective and saved uid are `owner`; anybody's when owner is 0. */
enum apply_result scheduling_apply(const struct target *target, uid_t owner, const struct attributes *wanted, const struct placement *placement,
                            char reason[static APPLY_REASON]);

/* Whether the kernel takes SCHED_DEADLINE threads that may be on all of these CPUs: it does where they are all of one
 * scheduling domain. Tried with a child of its own. */
enum apply_result scheduling_probe(const cpu_set_t *cpus, char reason[static APPLY_REASON]);

/* Moves a thread that runs under FIFO or RR to another priority or other CPUs. */
enum apply_result scheduling_adjust(const struct target *target, const struct attributes *wanted, const struct placement *placement,
                             char reason[static APPLY_REASON]);

/* Puts the former attributes back: first out of the real-time class, then off its CPUs. */
enum apply_result scheduling_restore(const struct target *target, const struct attributes *former, const struct placement *placement,
                              char reason[static APPLY_REASON]);

/* SCHED_DEADLINE, between what was granted and ordinary, where it is. *overrun is kept from one call to the next, at first {0}; what is due is to pass
 * before it is resumed. REFUSED: not yet. PENDING: not before it is seen awake. */
void scheduling_suspend(const struct target *target, struct overrun *overrun);
enum apply_result scheduling_resume(const struct target *target, const struct attributes *granted, const struct overrun *overrun);

#endif
