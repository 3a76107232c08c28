/* The kernel's tick. The kernel notices that a SCHED_DEADLINE thread has used up its runtime at the
 * next tick, unless a high-resolution timer (the scheduler's feature HRTICK_DL) fires before. */
#ifndef RTF_TICK_H
#define RTF_TICK_H

#include <stdbool.h>
#include <stdint.h>

/* The length of a tick in us: the resolution of the coarse clock, which advances once per tick. */
uint64_t tick_length(void);

/* True if a timer is known to end SCHED_DEADLINE runtimes: tick_know has said so. The behaviour is
 * measured (libexec/attach/tick-probe.h), because often nobody can read the file of HRTICK_DL, not
 * even root (lockdown), and the kernel's version does not tell. */
bool tick_is_not_awaited(void);
void tick_know(bool timer);

#endif
