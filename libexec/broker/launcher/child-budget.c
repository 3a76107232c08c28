#include "child-budget.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>

/* ns; a child that uses at most IDLE in a PAUSE is nearly idle */
enum { BUDGET = 5000000, SPAN = 250000000, PAUSE = 100000000, IDLE = 2000000 };

/* Makes the child real-time, one priority below the broker, or ordinary under SCHED_BATCH. A
 * SCHED_BATCH process preempts no other process when it wakes. So it runs later, and then does more
 * work in one go. */
static void rank(pid_t pid, bool ordinary)
{
    struct sched_param param = {0};
    const bool ranked = sched_getscheduler(0) == SCHED_FIFO && sched_getparam(0, &param) == 0;
    param.sched_priority = ordinary ? 0 : param.sched_priority - 1;
    if (ranked && pid > 0)
        (void)sched_setscheduler(pid, (ordinary ? SCHED_BATCH : SCHED_FIFO) | SCHED_RESET_ON_FORK,
                                 &param);
}

static void arm(struct budget *budget)
{
    static const struct itimerspec once = {.it_value.tv_nsec = BUDGET};
    budget->since = monotonic_now();
    if (budget->is_timed)
        (void)timer_settime(budget->timer, 0, &once, NULL);
}

static int64_t used_by(const struct budget *budget)
{
    struct timespec used = {0};
    (void)clock_gettime(budget->clock, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static void give_rank_back(struct timer *timer)
{
    struct budget *budget = (struct budget *)((char *)timer - offsetof(struct budget, ordinary));
    const int64_t before = budget->used;
    budget->used = used_by(budget);
    if (budget->used - before > IDLE) {
        timer_set(timer, monotonic_now() + PAUSE);
        return;
    }
    rank(budget->pid, false);
    arm(budget);
}

void budget_begin(struct budget *budget, pid_t pid, int value)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                             .sigev_signo = SIGRTMIN,
                             .sigev_value.sival_int = value};
    *budget = (struct budget){.pid = pid, .ordinary.due = give_rank_back};
    budget->is_timed = pid > 0 && clock_getcpuclockid(pid, &budget->clock) == 0 &&
                       timer_create(budget->clock, &event, &budget->timer) == 0;
    arm(budget);
}

void budget_used_up(struct budget *budget)
{
    if (!budget->is_timed || budget->ordinary.at != 0)
        return;
    if (monotonic_now() - budget->since >= SPAN) {
        arm(budget);
        return;
    }
    rank(budget->pid, true);
    budget->used = used_by(budget);
    timer_set(&budget->ordinary, monotonic_now() + PAUSE);
}

void budget_end(struct budget *budget)
{
    if (budget->is_timed)
        (void)timer_delete(budget->timer);
    budget->is_timed = false;
    timer_end(&budget->ordinary);
}
