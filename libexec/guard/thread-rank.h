/* The rank (policy and priority) of one thread. A priority is the kernel's number: 99 -
 * rt_priority; -1 under SCHED_DEADLINE; RT_PRIORITIES or more for an ordinary thread. */
#ifndef RTF_THREAD_RANK_H
#define RTF_THREAD_RANK_H

#include <stdbool.h>
#include <sys/types.h>

enum { RT_PRIORITIES = 100 };

/* True: the policy of the thread gives it this priority; for -1 always. */
bool rank_is(pid_t tid, int priority);

/* rank_in_force returns the priority that the thread runs at, with what is lent to it; RT_PRIORITIES
 * or more also if the thread has ended. rank_is_boosted: true: this is a higher priority than the
 * thread's own policy gives it. A SCHED_DEADLINE thread that is lent SCHED_DEADLINE does not
 * show. */
int rank_in_force(pid_t tid);
bool rank_is_boosted(pid_t tid);

#endif
