/* Makes a reservation instead of a scheduling call. The spec preload-TID in the user's directory
 * ends with the thread. The process keeps no state: a thread's reservation is found by its name,
 * also after fork(2) and execve(2). */
#ifndef RTF_BUDGET_H
#define RTF_BUDGET_H

#include <stdint.h>
#include <sys/types.h>

/* The parameters of the program's call. */
struct wanted {
    int policy;                         /* SCHED_FIFO, SCHED_RR or SCHED_DEADLINE */
    int priority;                       /* SCHED_FIFO and SCHED_RR: 1 to 99 */
    uint64_t runtime, deadline, period; /* SCHED_DEADLINE: us */
};

/* Returns 0, or the errno with which the kernel would refuse. The cause goes to standard error, in
 * one line. */
int budget_reserve(pid_t thread, const struct wanted *wanted);

/* Ends the thread's reservation, if it has one: the thread becomes ordinary. */
void budget_release(pid_t thread);

/* Says that a new thread does not get the policy of its attributes, because the program did not set
 * PTHREAD_EXPLICIT_SCHED. */
void budget_warn(int policy);

#endif
