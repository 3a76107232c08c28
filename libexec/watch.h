/* A descriptor that tells of one task what nothing else does.
 *
 * A pidfd is silent when the first thread of a process ends before the others, and when it is replaced by another one's
 * execve(2); before Linux 6.9 it cannot watch other threads at all. And when a thread that sleeps comes to run, no file
 * tells. A counter of that task's CPU time (perf_event_open(2)) hangs up with the task, whoever takes over its id, and fires
 * when it has run for 10 us. */
#ifndef RTF_WATCH_H
#define RTF_WATCH_H

#include <sys/types.h>

/* Poll says POLLHUP when the task ends, if the descriptor is mapped (one page suffices); and POLLIN when it
 * has run, if two pages are mapped and PERF_EVENT_IOC_REFRESH has armed it. -1 with errno. */
int watch_open(pid_t tid);

#endif
