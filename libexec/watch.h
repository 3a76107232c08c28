/* A descriptor that tells of one task what nothing else does.
 *
 * A pidfd is silent when the first thread of a process ends before the others, and when it is replaced by another one's
 * execve(2); before Linux 6.9 it cannot watch other threads at all, which go on under their leader's id when they call
 * execve(2). And when a thread that sleeps comes to run, no file tells. A perf event of that task (perf_event_open(2)) hangs
 * up with the task, whoever takes over its id; a counter of its CPU time fires when it has run for 10 us, and one that counts
 * nothing can record its execve. */
#ifndef RTF_WATCH_H
#define RTF_WATCH_H

#include <stdbool.h>
#include <sys/types.h>

/* Poll says POLLHUP when the task ends, and POLLIN when it has run, if PERF_EVENT_IOC_REFRESH has armed it; or, with
 * `execs`, when it has called execve. Two pages of the descriptor have to be mapped for that. -1 with errno. */
int watch_open(pid_t tid, bool execs);

#endif
