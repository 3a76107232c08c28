/* Makes a granted thread ordinary (suspends it) and real-time again (resumes it), as often as it
 * uses up its runtime. The grant was checked when the thread was attached, so nothing is checked
 * again here. The thread keeps its CPUs, nice value and reset-on-fork flag. Each function checks
 * the pidfd before its call, and the resume functions also after the call, so that a thread that
 * has taken over the id does not stay real-time. */
#ifndef RTF_SUSPENSION_H
#define RTF_SUSPENSION_H

#include "scheduling.h"

int suspend_kernel_policy(enum policy policy);

/* For FIFO and RR. *policy and *priority: the kernel's numbers for the thread at suspension. A
 * thread that its owner has made ordinary meanwhile stays ordinary. */
void suspend_fixed_priority(const struct target *target, int *policy, int *priority);
void resume_fixed_priority(const struct target *target, int policy, int priority);
/* Lowers the priority by one, or makes a thread of priority 1 ordinary. resume_fixed_priority
 * restores the thread. */
void lower_fixed_priority(const struct target *target, int *policy, int *priority);

/* For SCHED_DEADLINE. *overrun: see scheduling_suspend. Returns the time before which the thread
 * must not be resumed, because the kernel still counts its bandwidth (CLOCK_MONOTONIC, ns); 0: at
 * once. */
int64_t suspend_deadline(const struct target *target, struct overrun *overrun);
/* Returns APPLY_DONE if the thread has ended or is real-time already, else the result of
 * scheduling_resume. */
enum apply_result resume_deadline(const struct target *target, const struct attributes *granted,
                                  const struct overrun *overrun);

/* Ends the reclaiming of a SCHED_DEADLINE thread (scheduling_end_reclaim). True if the thread
 * reclaims no more, or has ended. */
bool end_reclaim_of(const struct target *target);
/* True: the thread is SCHED_DEADLINE, and does not reclaim. */
bool reclaims_not(const struct target *target);

/* True: the thread is ordinary with reset-on-fork, as only a suspended thread is. */
bool suspension_is_left_over(const struct target *target);

#endif
