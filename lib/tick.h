/* The kernel's tick. When a SCHED_DEADLINE thread has used up its runtime, the kernel notices this
 * only at the next tick, unless a high-resolution timer (the scheduler's feature HRTICK_DL) fires
 * before the tick. */
#ifndef RTF_TICK_H
#define RTF_TICK_H

#include <stdbool.h>
#include <stdint.h>

/* The length of a tick in us: the resolution of the coarse clock, which advances once per tick. */
uint64_t tick_length(void);

/* True if tick_know(true) was called: then a timer ends the runtime of a SCHED_DEADLINE thread, and
 * not the tick. libexec/attach/tick-probe.h measures whether there is such a timer, because often
 * not even root can read the file of HRTICK_DL (lockdown), and the kernel's version does not
 * tell. */
bool tick_is_not_awaited(void);
void tick_know(bool timer);

#endif
