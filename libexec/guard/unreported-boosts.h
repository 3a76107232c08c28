/* Finds the boosts that a kernel with PREEMPT_RT reports late or not at all.
 *
 * Two things differ from other kernels. First, a thread of the kernel (irq_work) on the CPU of the
 * report wakes the guard. A thread that is lent SCHED_DEADLINE on that CPU keeps irq_work from
 * running, so no wakeup comes. As long as SCHED_DEADLINE may be lent, the guard therefore reads the
 * reports without a wakeup, once per shortest SCHED_DEADLINE runtime, but not more often than once
 * a millisecond.
 *
 * Second, a report may be missing. While irq_work is about to wake a thread and is preempted, the
 * kernel takes other events on that CPU for events of irq_work itself, and drops them
 * (perf_swevent_get_recursion_context, before Linux 6.11). So a lender that was suspended and still
 * sleeps is resumed until the kernel reports its boost; and a thread that has not run for a second,
 * and lends nothing as far as is known, is made ordinary and real-time again, so that the kernel
 * reports its boost.
 *
 * With other kernels nothing here is ever due. */
#ifndef RTF_UNREPORTED_BOOSTS_H
#define RTF_UNREPORTED_BOOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "guarded-threads.h"

/* unreported_boosts_due: when to read the reports even without a wakeup, ns; INT64_MAX: never.
 * unreported_boosts_look: reads them if they are due, and checks threads that sleep. */
int64_t unreported_boosts_due(void);
void unreported_boosts_look(int64_t now);

/* A thread is about to become SCHED_DEADLINE. */
void unreported_boosts_expect_promotion(int64_t now);

/* Called when a suspended thread runs as granted again. False: the thread may lend its rank although
 * the kernel has reported no boost. */
bool unreported_boosts_none(struct guarded *lender);

#endif
