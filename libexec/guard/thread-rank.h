/* The rank (policy and priority) of one thread. A priority is the kernel's number: 99 -
 * rt_priority; -1 under SCHED_DEADLINE; RT_PRIORITIES or more for an ordinary thread. */
#ifndef RTF_THREAD_RANK_H
#define RTF_THREAD_RANK_H

#include <stdbool.h>
#include <sys/types.h>

enum { RT_PRIORITIES = 100 };

/* True: the thread's own policy gives it this priority. For priority -1 the answer is always
 * true. */
bool rank_is(pid_t tid, int priority);

/* rank_in_force returns the priority that the thread runs at, including a lent rank; RT_PRIORITIES
 * if the thread has ended. rank_is_boosted: true: the thread runs at a higher priority than its own
 * policy gives it. The answer is false for a SCHED_DEADLINE thread that is lent SCHED_DEADLINE,
 * because /proc does not show this. */
int rank_in_force(pid_t tid);
bool rank_is_boosted(pid_t tid);

#endif
