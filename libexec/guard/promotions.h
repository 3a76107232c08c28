/* Threads that are about to become SCHED_DEADLINE, so that whom they lend that to can be dealt with before the broker comes to say that they
 * are guarded: it may be kept from running by just those.
 *
 * The broker writes a struct promotion into a pipe before it has a thread promoted. Nobody is woken: the guard reads the pipe when it
 * asks itself who lends to somebody whom no guarded thread does. */
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

/* Takes the reading end over, in place of an earlier one. */
void promotions_from(int fd);

/* Reads what has been written. */
void promotions_drain(void);

/* It is guarded from now on, or nobody's concern any more. Until when the kernel counts what it had if it was made ordinary
 * (monotonic_now; 0: it does not). What it had overrun was perhaps so before, and is not sure to be forgiven then. */
int64_t promotions_forget(pid_t tid);

/* Is there any? After draining. */
bool promotions_any(void);

/* Makes those ordinary that are SCHED_DEADLINE by now, one after another, until is_over(about). True: it is. Their attachments fail, or find them
 * as if they had been suspended. */
bool promotions_suspend(bool (*is_over)(pid_t), pid_t about);

#endif
