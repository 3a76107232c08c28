/* Reads the tracepoint sched_pi_setprio: the kernel reports there that a thread gets the rank
 * (policy and priority) of another thread, or loses this rank again (rt_mutex_setprio). The kernel
 * writes each report into the ring of the CPU where the change happens, see perf_event_open(2). */
#ifndef RTF_INHERITANCE_EVENTS_H
#define RTF_INHERITANCE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct priority_change {
    pid_t tid;    /* the thread whose priority changes */
    pid_t caller; /* the thread whose system call changes it */
    /* the kernel's priorities: 99 - rt_priority; -1 under SCHED_DEADLINE; 100 or more for
     * ordinary threads */
    int before, after;
    int64_t time; /* CLOCK_MONOTONIC, ns */
};

/* Opens one ring for each CPU. `tracepoint` is "ID:PID:OLDPRIO:NEWPRIO": the id of the tracepoint,
 * and the offsets of the fields pid, oldprio and newprio in its records, in bytes. Each record
 * makes `epoll` ready, with the data `as`. False: errno says why. Called once; the rings stay
 * open. */
bool inheritance_events_open(const char *tracepoint, int epoll, uint64_t as);

/* Calls `take` for each new record, CPU by CPU; the records of two CPUs may be out of order.
 * True: there was a record. */
bool inheritance_events_drain(void (*take)(const struct priority_change *));

/* True: since the last call the kernel may have left out a record, because a ring was full. */
bool inheritance_events_lost(void);

/* Says whether records make `epoll` ready from now on. */
void inheritance_events_listen(bool on);

/* True with PREEMPT_RT: a record may come without a wakeup, or may be missing
 * (unreported-boosts.h). */
bool inheritance_events_may_fail(void);

#endif
