/* Threads that hold a lock for which a thread of the same or a lower rank waits. Such a wait boosts
 * nobody, so the kernel reports the holder's priority as unchanged. Neither does the kernel report
 * that a boosted holder gets such a rank itself. If the holder becomes ordinary later, the waiting
 * thread's rank is lent at once, and the kernel reports nothing. So lending.c notes the holders, and
 * looks at each noted thread that becomes ordinary. */
#ifndef RTF_HIDDEN_WAITS_H
#define RTF_HIDDEN_WAITS_H

#include <stdbool.h>
#include <sys/types.h>

/* Notes a holder. If there are too many, each thread counts as noted from then on. */
void hidden_wait_note(pid_t holder);
bool hidden_wait_is_noted(pid_t tid);
void hidden_wait_forget(pid_t tid);

/* Reports of the kernel were lost: each thread counts as noted from then on. */
void hidden_waits_lost(void);

#endif
