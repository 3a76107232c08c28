/* Priority inheritance: who waits for a lock (PTHREAD_PRIO_INHERIT, futex(2) FUTEX_LOCK_PI) lends its rank to whoever holds it, be it an
 * ordinary thread of another user, and the kernel bounds what that one does with it by nothing. Here what is lent counts against the
 * runtime of the lender: when that is used up the lender is suspended until its next period, and the boost ends with it.
 *
 * The kernel tells of each boost and of its end by the tracepoint sched_pi_setprio, and in whose name: the thread that begins to wait, or
 * one that holds what is waited for and begins to wait itself. Other ways exist (FUTEX_CMP_REQUEUE_PI is called by a third one), and then
 * it is tried out when the runtime is over: the boost ends when the right one is suspended.
 *
 * A boost that lasts for a moment costs a wakeup; while there are more of them the rings are looked into once a millisecond.
 *
 * With PREEMPT_RT it is a thread of the kernel's (irq_work) that wakes who waits for a record, on the CPU where that was written. Who is lent
 * SCHED_DEADLINE on that very CPU keeps it from running, and nobody would ever hear of the boost. So there the rings are looked into without
 * being told to as long as SCHED_DEADLINE may be lent: as often as its shortest runtime lasts, but not more than once a millisecond.
 *
 * There a record may be left out, too: while irq_work is about to wake somebody and is preempted, what happens on its CPU is taken for its own
 * doing (perf_swevent_get_recursion_context, before Linux 6.11). So a lender that was suspended and still sleeps is put in force again until the
 * kernel tells whom it lends to; and one that has not run for a second, and seems to lend nothing, is made ordinary and real-time again, to
 * have the kernel tell. */
#ifndef RTF_LENDING_H
#define RTF_LENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "guarded-threads.h"

/* "ID:PID:OLDPRIO:NEWPRIO", the tracepoint's id and where these fields are in its records. False with errno: no boost is seen. */
bool lending_open(const char *tracepoint, int epoll, uint64_t as);

/* Something has been boosted. */
void lending_ready(int64_t now);

/* With PREEMPT_RT. */
bool lending_may_come_unseen(void);

/* A thread is about to become SCHED_DEADLINE (promotions.h). */
void lending_expected(int64_t now);

/* Whom to tell of; NULL: nobody more. */
struct guarded *lending_expire(int64_t now);
int64_t lending_deadline(void);

#endif
