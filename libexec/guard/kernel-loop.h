/* Frees a process of rtf that loops in the kernel.
 *
 * If two processes look up a thread in /proc while the thread ends, the kernel removes its cached
 * entries. While one process removes an entry, the other process searches the entries again and
 * again (shrink_dcache_parent). If the searching process is FIFO and keeps the removing one from
 * the CPU, the search never ends, and no signal ends it. If the searching process is ordinary, the
 * removing process can run, and the search ends (contrib/kernels.md).
 *
 * So an event wakes the guard each time a watched process has used LOOP_AFTER of CPU time. If the
 * process has slept for less than LOOP_SLEEP meanwhile, the guard makes it ordinary for LOOP_PAUSE.
 * A process that is only busy loses little: during LOOP_PAUSE it gets the CPU time that other
 * processes leave. */
#ifndef RTF_KERNEL_LOOP_H
#define RTF_KERNEL_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* LOOP_AFTER: us; the others: ns */
enum { LOOP_AFTER = 1000000, LOOP_SLEEP = 500000000, LOOP_PAUSE = 5000000, LOOP_MOST = 4 };

/* Watches the process by this event (cpu_budget_open in libexec/attach/task-events.h, for
 * LOOP_AFTER). Takes the event over. Returns a number below LOOP_MOST, which the functions below
 * take for this process; -1: the process is watched already, or cannot be watched. */
int loop_watch(pid_t process, int event, int64_t now);
int loop_event(int number);
/* Call this when the event has hung up, because the process has ended. */
void loop_forget(int number);

/* Call this when the event is ready. True: the process loops, and is ordinary from now on.
 * *process: its id. */
bool loop_take_event(int number, int64_t now, pid_t *process);

/* loop_next_due: when a process is due to be real-time again; INT64_MAX: no process is paused.
 * loop_resume_due makes the processes that are due real-time again. */
int64_t loop_next_due(void);
void loop_resume_due(int64_t now);

#endif
