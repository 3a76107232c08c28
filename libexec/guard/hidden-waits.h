/* Remembers SCHED_DEADLINE threads that hold a lock for which a thread of a lower rank (policy and
 * priority) waits. Such a wait boosts nobody, and the kernel reports the holder's priority as
 * unchanged. A boosted holder may also be made SCHED_DEADLINE itself; the kernel reports nothing
 * then. If the holder becomes ordinary later, the waiting thread lends its rank at once, and again
 * the kernel reports nothing. So lending.c notes the holders. When the guarding of a noted thread
 * ends, the guard itself makes the thread ordinary, and checks whether the thread is boosted. */
#ifndef RTF_HIDDEN_WAITS_H
#define RTF_HIDDEN_WAITS_H

#include <stdbool.h>
#include <sys/types.h>

/* Notes a holder. If there are too many holders, each thread counts as noted from then on. */
void hidden_wait_note(pid_t holder);
bool hidden_wait_is_noted(pid_t tid);
void hidden_wait_forget(pid_t tid);

/* Reports of the kernel were lost: each thread counts as noted from then on. */
void hidden_waits_lost(void);

#endif
