/* A descriptor that tells of one task what nothing else does.
 *
 * A pidfd is silent when the first thread of a process ends before the others, and when it is replaced by another one's
 * execve(2); before Linux 6.9 it cannot watch other threads at all, which go on under their leader's id when they call
 * execve(2). And when a thread that sleeps comes to run, no file tells. A perf event of that task (perf_event_open(2)) hangs
 * up with the task, whoever takes over its id, and one that counts nothing can record its execve, or its context switches. (A
 * counter of its CPU time depends on a timer: one that was late missed 0.8 ms of a thread that then slept again, in a
 * virtual machine.) */
#ifndef RTF_TASK_EVENTS_H
#define RTF_TASK_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Poll says POLLHUP when the task ends, and POLLIN when it begins or ceases to run, between PERF_EVENT_IOC_ENABLE and
 * PERF_EVENT_IOC_DISABLE; or, with `execs`, when it has called execve. Two pages of the descriptor have to be mapped for that.
 * -1 with errno. */
int task_events_open(pid_t tid, bool execs);

/* An event that tells, when one page of it and one for records are mapped, each time the thread has had so much CPU time more: from
 * PERF_EVENT_IOC_ENABLE to PERF_EVENT_IOC_DISABLE. Read, it says how much that is in all, in ns. -1 with errno. */
int cpu_budget_open(pid_t tid, uint64_t microseconds);

#endif
