/* A descriptor that tells of one task what nothing else does.
 *
 * A pidfd is silent when the first thread of a process ends before the others, and when it is replaced by another one's
 * execve(2); before Linux 6.9 it cannot watch other threads at all. And when a sleeping thread that was moved to a
 * domain comes to run there, no file tells. A counter of CPU migrations of that task (perf_event_open(2)) hangs up with
 * the task, whoever takes over its id, and fires when it is switched in on another CPU (measured on 6.1 and 6.18). */
#ifndef RTF_WATCH_H
#define RTF_WATCH_H

#include <sys/types.h>

/* Poll says POLLHUP when the task ends, if the descriptor is mapped (one page suffices); and POLLIN at its next
 * migration, if two pages are mapped and PERF_EVENT_IOC_REFRESH has armed it. -1 with errno. */
int watch_open(pid_t tid);

#endif
