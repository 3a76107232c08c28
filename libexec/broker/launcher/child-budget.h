/* Bounds the CPU time of a child that runs above all grants, although users cause its work: a
 * reader, the adopter. When the child has used BUDGET, as the kernel's tick counts it, within a
 * SPAN, it becomes an ordinary process until it has been nearly idle for a PAUSE. So a user who
 * floods the child with work disturbs the reservations of other users no more than an ordinary
 * process of this user could. Some hundred requests a second stay below BUDGET: their reader stays
 * real-time, and does not wait for a CPU behind the floods of other users. */
#ifndef RTF_CHILD_BUDGET_H
#define RTF_CHILD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "timers.h"

struct budget {
    pid_t pid; /* 0: none */
    clockid_t clock;
    timer_t timer;
    bool is_timed;
    int64_t since; /* when the present BUDGET began to count, CLOCK_MONOTONIC, ns */
    /* the CPU time that the child had used when this was last looked at, ns */
    int64_t used;
    struct timer ordinary; /* the child is ordinary until this time at least */
};

/* budget_begin: when the budget is used up, the signal SIGRTMIN comes with `value`. Then call
 * budget_used_up. */
void budget_begin(struct budget *budget, pid_t pid, int value);
void budget_used_up(struct budget *budget);
void budget_end(struct budget *budget);

#endif
