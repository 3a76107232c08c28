/* A reservation in the place of a scheduling call: preload-TID in the user's directory, which ends with the thread. Nothing is remembered in the process:
 * what a thread has is found by that name, also after fork(2) and execve(2). */
#ifndef RTF_BUDGET_H
#define RTF_BUDGET_H

#include <stdint.h>
#include <sys/types.h>

/* What the program asked the kernel for. */
struct wanted {
    int policy;                         /* SCHED_FIFO, SCHED_RR or SCHED_DEADLINE */
    int priority;                       /* of the first two */
    uint64_t runtime, deadline, period; /* us, of the third */
};

/* 0, or the error that the kernel has for it; why is one line on standard error. */
int budget_reserve(pid_t thread, const struct wanted *wanted);

/* The thread is to be ordinary again: its reservation, if it has one, ends. */
void budget_release(pid_t thread);

#endif
