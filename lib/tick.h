/* The kernel's tick. The kernel notices that a SCHED_DEADLINE thread has used up its runtime at the
 * next tick, unless a high-resolution timer (the scheduler's feature HRTICK_DL) fires before. */
#ifndef RTF_TICK_H
#define RTF_TICK_H

#include <stdbool.h>
#include <stdint.h>

/* The length of a tick in us: the resolution of the coarse clock, which advances once per tick. */
uint64_t tick_length(void);

/* True if tick_know(true) has said that a timer ends SCHED_DEADLINE runtimes.
 * libexec/attach/tick-probe.h measures this, because often not even root can read the file of
 * HRTICK_DL (lockdown), and the kernel's version does not decide it. */
bool tick_is_not_awaited(void);
void tick_know(bool timer);

#endif
