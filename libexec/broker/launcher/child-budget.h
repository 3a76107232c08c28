/* A child that runs above all that is granted, and whose work users decide about: a reader, the adopter. When it uses BUDGET of CPU time, as the kernel's tick
 * counts it, within a SPAN, it is ordinary until it has been nearly idle for a PAUSE: then what it does costs others no more of their reservations than who floods
 * it could cost them alone. A flood that goes on is served by an ordinary process for all of its time. A user who asks for less, some hundred times a second, has
 * a reader with its rank all the time, or that would wait for a CPU behind all that others flood. */
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
    int64_t since;         /* when it had BUDGET left, CLOCK_MONOTONIC, ns */
    int64_t used;          /* of CPU time when it was last looked at, ns */
    struct timer ordinary; /* set: until then it is, at least */
};

/* `value` comes with the signal SIGRTMIN when it is used up. */
void budget_begin(struct budget *budget, pid_t pid, int value);
void budget_used_up(struct budget *budget);
void budget_end(struct budget *budget);

#endif
