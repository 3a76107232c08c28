/* Between what was granted to a thread and ordinary, and back, as often as it uses up its runtime: what is not granted anew each time
 * need not be proved anew. CPUs, nice value and the flag reset-on-fork stay. All look again after the call, so that nothing is done to a
 * thread that took the id over. */
#ifndef RTF_SUSPENSION_H
#define RTF_SUSPENSION_H

#include "scheduling.h"

int suspend_kernel_policy(enum policy policy);

/* FIFO and RR. *policy and *priority are the kernel's words for what it was; one that its owner has made ordinary stays so. */
void suspend_fixed(const struct target *target, int *policy, int *priority);
void resume_fixed(const struct target *target, int policy, int priority);

/* SCHED_DEADLINE; what has been overrun as scheduling_suspend wants it. Until when (monotonic_now) it must not be resumed, for the kernel counts what it
 * had; 0: it may be. */
int64_t suspend_deadline(const struct target *target, struct overrun *overrun);
/* As scheduling_resume; APPLY_DONE, too, if there is nothing to resume. */
enum apply_result resume_deadline(const struct target *target, const struct attributes *granted, const struct overrun *overrun);

/* It is ordinary, and none that was never more. */
bool suspend_is_left_over(const struct target *target);

#endif
