/* Makes a granted thread ordinary and real-time again, as often as it uses up its runtime. The
 * grant has been proved when the thread was attached, so nothing is proved anew here. CPUs, nice
 * value and reset-on-fork stay. Each function checks the pidfd before its call, and the resume
 * functions also after it, so that a thread that has taken over the id does not stay real-time. */
#ifndef RTF_SUSPENSION_H
#define RTF_SUSPENSION_H

#include "scheduling.h"

int suspend_kernel_policy(enum policy policy);

/* FIFO and RR. *policy and *priority: what the thread had at suspension, as the kernel's
 * numbers. A thread that its owner has made ordinary meanwhile stays ordinary. */
void suspend_fixed_priority(const struct target *target, int *policy, int *priority);
void resume_fixed_priority(const struct target *target, int policy, int priority);

/* SCHED_DEADLINE. *overrun as for scheduling_suspend. Returns the time before which the thread
 * must not be resumed, because the kernel still counts its bandwidth (CLOCK_MONOTONIC, ns); 0:
 * none. */
int64_t suspend_deadline(const struct target *target, struct overrun *overrun);
/* As scheduling_resume; also APPLY_DONE if the thread has ended or is real-time already. */
enum apply_result resume_deadline(const struct target *target, const struct attributes *granted,
                                  const struct overrun *overrun);

/* True: the thread is ordinary with reset-on-fork, as only a suspended thread is. */
bool suspension_is_left_over(const struct target *target);

#endif
