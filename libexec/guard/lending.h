/* Bounds the CPU time that a guarded thread lends by priority inheritance.
 *
 * A thread that waits for a lock (PTHREAD_PRIO_INHERIT; FUTEX_LOCK_PI in futex(2)) lends its rank
 * (policy and priority) to the holder of the lock, which is boosted. The holder may be an ordinary
 * thread of another user, and the kernel does not bound its CPU time. So the guard counts the time
 * of a boost against the runtime of the lender. When the runtime is used up, the guard suspends the
 * lender until its next period, which ends the boost.
 *
 *     boost       begins and ends with a report of the kernel (inheritance-events.h)
 *     lender      known: the report names the thread that began to wait. That thread is guarded, is
 *                 a member of the group of a guarded process, or is itself boosted by a guarded
 *                 thread.
 *                 unknown: the report names a third thread (after FUTEX_CMP_REQUEUE_PI, or a change
 *                 of the waiting thread's priority). Or there is no report: the thread waits for a
 *                 thread of the same or a higher rank, and this thread is made ordinary later. When
 *                 the shortest runtime of a possible lender is over, the guard suspends the
 *                 possible lenders one by one until the boost ends. Boosts that end before
 *                 this are added up. When their sum reaches that shortest runtime, the guard looks
 *                 for the lender of the next boost at once.
 *                 wrong: the third thread is guarded itself, and the report seems to name it as
 *                 the lender. If the boost goes on when this third thread is suspended, the
 *                 lender counts as unknown.
 *     suspended   the guard suspends the lender when the CPU time that the lender has used and lent
 *                 reaches its runtime. The lender may lend again when it runs as granted again.
 *
 * A short boost costs one wakeup of the guard. While boosts keep coming, the guard reads the
 * reports once a millisecond, and is not woken for each.
 *
 * With PREEMPT_RT a report may come late or not at all (unreported-boosts.h). */
#ifndef RTF_LENDING_H
#define RTF_LENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "guarded-threads.h"

/* Begins to read the kernel's reports, see inheritance_events_open. False with errno: the guard
 * sees no boost. */
bool lending_open(const char *tracepoint, int epoll, uint64_t as);

/* Called when the epoll descriptor is ready, because a report has come. */
void lending_read_reports(int64_t now);

/* Does what is due at `now`, and returns a lender that has been suspended. The caller reports this
 * lender to the broker, and calls again. NULL: nothing more is due. lending_next_due: when
 * something is due (CLOCK_MONOTONIC, ns). */
struct guarded *lending_suspend_due(int64_t now);
int64_t lending_next_due(void);

#endif
