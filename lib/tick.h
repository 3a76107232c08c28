/* The kernel's tick. SCHED_DEADLINE threads are told only then that their runtime is used up, unless a timer of its own ends it. */
#ifndef RTF_TICK_H
#define RTF_TICK_H

#include <stdbool.h>
#include <stdint.h>

/* Its length in us: the step of the clock that moves once a tick. */
uint64_t tick_length(void);

/* Whether the kernel feature HRTICK_DL is known to be on. Its file is often closed to everybody, root too (lockdown): then it is off,
 * as it is by default. */
bool tick_is_not_awaited(void);

#endif
