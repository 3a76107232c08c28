/* Threads that are about to become SCHED_DEADLINE.
 *
 * A thread that waits for a lock lends SCHED_DEADLINE as soon as the attach helper has made it
 * so. The boosted thread may then keep the broker from running, so that the broker cannot have
 * the thread guarded. So the broker writes a struct promotion into a pipe before the attach
 * helper acts. The write wakes nobody, except with PREEMPT_RT: the guard reads the pipe when it
 * looks for the lender of a boost and no guarded thread is. */
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

/* Reads from the pipe `fd` from now on, and owns it. Closes an earlier one. */
void promotions_from(int fd);

/* Reads the pipe. */
void promotions_drain(void);

/* Forgets the thread: it is guarded from now on, or will not be. Returns until when the kernel
 * counts its bandwidth if promotions_suspend has made it ordinary (CLOCK_MONOTONIC, ns); 0: it
 * does not. Its struct overrun is forgotten, too: the overrun may be older than the suspension,
 * and may not be paid back by then. */
int64_t promotions_forget(pid_t tid);

/* True: a thread is known to be about to become SCHED_DEADLINE. Call promotions_drain first. */
bool promotions_any(void);

/* Makes the known threads ordinary that are SCHED_DEADLINE by now, one after the other, until
 * is_over(about) is true. Returns true then; false: no such thread made it true. For the broker
 * their attachment fails, or is in force and the thread is suspended. */
bool promotions_suspend(bool (*is_over)(pid_t), pid_t about);

#endif
