#include "suspension.h"

#include <sched.h>

#include "clock.h"

/* It has ended, and who has the id by now would have been made real-time instead. */
static void look_again(const struct target *target)
{
    struct identity identity;
    struct attributes now;
    const struct sched_param none = {0};
    if (!thread_has_ended(target->pidfd))
        return;
    if (thread_look(target->tid, &identity) && !identity.ended && thread_attributes(target->tid, &now) &&
        now.reset_on_fork && policy_is_real_time(now.policy))
        (void)sched_setscheduler(target->tid, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
}

int suspend_kernel_policy(enum policy policy)
{
    return policy == POLICY_RR ? SCHED_RR : SCHED_FIFO;
}

void suspend_fixed(const struct target *target, int *policy, int *priority)
{
    const struct sched_param none = {0};
    struct sched_param param;
    if (thread_has_ended(target->pidfd))
        return;
    const int now = sched_getscheduler(target->tid);
    if (now < 0 || sched_getparam(target->tid, &param) != 0)
        return;
    *policy = now & ~SCHED_RESET_ON_FORK;
    *priority = param.sched_priority;
    if (*policy == SCHED_FIFO || *policy == SCHED_RR)
        (void)sched_setscheduler(target->tid, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
}

void resume_fixed(const struct target *target, int policy, int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    if ((policy != SCHED_FIFO && policy != SCHED_RR) || thread_has_ended(target->pidfd))
        return;
    (void)sched_setscheduler(target->tid, policy | SCHED_RESET_ON_FORK, &param);
    look_again(target);
}

int64_t suspend_deadline(const struct target *target, struct overrun *overrun)
{
    static const int64_t late = INT64_C(100000000); /* the timers of a virtual CPU that the host stops */
    overrun->due = 0;
    if (!thread_has_ended(target->pidfd))
        scheduling_suspend(target, overrun);
    return overrun->due == 0 ? 0 : monotonic_now() + (int64_t)overrun->due * 1000 + late;
}

enum apply_result resume_deadline(const struct target *target, const struct attributes *granted, const struct overrun *overrun)
{
    struct attributes wanted = *granted, now;
    if (thread_has_ended(target->pidfd) || !thread_attributes(target->tid, &now) || policy_is_real_time(now.policy))
        return APPLY_DONE;
    wanted.domain = false; /* it is there */
    wanted.reset_on_fork = true;
    return scheduling_resume(target, &wanted, overrun);
}

bool suspend_is_left_over(const struct target *target)
{
    struct attributes now;
    return !thread_has_ended(target->pidfd) && thread_attributes(target->tid, &now) && !policy_is_real_time(now.policy) && now.reset_on_fork;
}
