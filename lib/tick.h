/* The kernel's tick. The kernel notices that a SCHED_DEADLINE thread has used up its runtime at the
 * next tick, unless a high-resolution timer (HRTICK_DL) fires before. */
#ifndef RTF_TICK_H
#define RTF_TICK_H

#include <stdbool.h>
#include <stdint.h>

/* The length of a tick in us: the resolution of the coarse clock, which advances once per tick. */
uint64_t tick_length(void);

/* True if the kernel feature HRTICK_DL is known to be on. Often nobody can read its file, not even
 * root (lockdown): then false, the kernel's default. */
bool tick_is_not_awaited(void);

#endif
