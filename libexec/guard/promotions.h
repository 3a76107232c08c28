/* Threads that are about to become SCHED_DEADLINE.
 *
 * A thread that waits for a lock lends SCHED_DEADLINE as soon as the attach helper has made it
 * SCHED_DEADLINE. The boosted thread may then keep the broker from running, so that the broker
 * cannot have the waiting thread guarded. So the broker writes a struct promotion into a pipe
 * before the attach helper acts. With PREEMPT_RT the write wakes the guard. Without PREEMPT_RT it
 * wakes nobody: the guard reads the pipe when it has found no guarded thread that lends a boost. */
#ifndef RTF_PROMOTIONS_H
#define RTF_PROMOTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct promotion {
    uint64_t started_by; /* lib/thread.h */
    pid_t tid;
    int unused;
};

/* Reads from the pipe `fd` from now on, and owns it. Closes an earlier pipe. */
void promotions_from(int fd);

/* Reads the pipe. */
void promotions_drain(void);

/* Forgets the thread, because it is guarded from now on, or never will be. If promotions_suspend
 * has made the thread ordinary, returns the time until which the kernel counts its bandwidth
 * (CLOCK_MONOTONIC, ns); 0: the kernel counts none. Forgets the thread's struct overrun, too,
 * because the overrun may be older than the suspension, and may not be repaid by the returned
 * time. */
int64_t promotions_forget(pid_t tid);

/* True: a thread is known to be about to become SCHED_DEADLINE. Call promotions_drain first. */
bool promotions_any(void);

/* Makes the known threads that are SCHED_DEADLINE by now ordinary, one after the other, until
 * is_over(about) is true. False: is_over(about) was true after none of them. The broker learns that
 * the attachment of such a thread has failed, or that the thread is attached and suspended. */
bool promotions_suspend(bool (*is_over)(pid_t), pid_t about);

#endif
