/* Perf events on one thread (perf_event_open(2)): descriptors for events that no other file
 * reports.
 *
 * A pidfd reports nothing when the first thread of a process ends before the other threads, nor
 * when the execve(2) of another thread replaces the first thread. Before Linux 6.9 a pidfd cannot
 * watch a thread other than the first, and such a thread takes over the first thread's id when it
 * calls execve(2). And no file reports that a sleeping thread begins to run.
 *
 * A perf event hangs up when its task ends, whatever thread takes over the id. An event that counts
 * nothing can record the task's execve(2) or its context switches. (A counter of CPU time cannot
 * report that a thread begins to run, because it depends on a timer: in a virtual machine, a late
 * timer missed 0.8 ms of a thread that then slept again.) */
#ifndef RTF_TASK_EVENTS_H
#define RTF_TASK_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Opens an event on thread `tid`. poll(2) reports POLLHUP when the thread ends. With `execs`,
 * poll(2) reports POLLIN after each execve(2). Without `execs`, poll(2) reports POLLIN when the
 * thread begins or ceases to run between PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE. The
 * caller maps two pages of the descriptor, and owns it. -1: errno says why. */
int task_events_open(pid_t tid, bool execs);

/* Opens an event that becomes readable each time the thread has had `microseconds` more of CPU time
 * between PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE. The caller maps two pages of the
 * descriptor, one for records, and owns it. read(2) returns the total CPU time counted, in ns. -1:
 * errno says why. */
int cpu_budget_open(pid_t tid, uint64_t microseconds);

#endif
