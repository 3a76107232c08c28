/* The kernel-wide settings that the lines of plugins.conf ask for: the real-time limit, the timer of
 * hrtick= and the scheduling domains. The attach helper makes each change; the broker waits for the
 * answer, at its start and end only. */
#ifndef RTF_KERNEL_SETUP_H
#define RTF_KERNEL_SETUP_H

#include <stdbool.h>

#include "reason.h"

/* Sets sched_rt_runtime_us and hrtick, and measures whether a timer ends runtimes. False: *reason
 * says why. */
bool kernel_setup_limits(char reason[static REASON_BYTES]);

/* Makes the scheduling domains, and refuses partition=global if the kernel would refuse each
 * attachment. False: *reason says why. */
bool kernel_setup_domains(char reason[static REASON_BYTES]);
bool kernel_setup_drop_domains(char reason[static REASON_BYTES]);

/* Restores sched_rt_runtime_us and hrtick. False: *reason says why. kernel_setup_restore_or_tell
 * writes the reason to the log. */
bool kernel_setup_restore(char reason[static REASON_BYTES]);
void kernel_setup_restore_or_tell(void);

#endif
