#include "suspension.h"

#include <sched.h>

#include "clock.h"

/* If the thread has ended, the call before may have made another thread with the same id real-time.
 * Makes that other thread ordinary. */
static void demote_successor(const struct target *target)
{
    struct identity identity;
    struct attributes now;
    const struct sched_param none = {0};
    if (!thread_has_ended(target->pidfd))
        return;
    if (thread_look(target->tid, &identity) && !identity.ended &&
        thread_attributes(target->tid, &now) && now.reset_on_fork &&
        policy_is_real_time(now.policy))
        (void)sched_setscheduler(target->tid, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
}

int suspend_kernel_policy(enum policy policy)
{
    return policy == POLICY_RR ? SCHED_RR : SCHED_FIFO;
}

/* False: the thread is not FIFO or RR, or has ended. */
static bool look_at_fixed_priority(const struct target *target, int *policy, int *priority)
{
    struct sched_param param;
    if (thread_has_ended(target->pidfd))
        return false;
    const int now = sched_getscheduler(target->tid);
    if (now < 0 || sched_getparam(target->tid, &param) != 0)
        return false;
    *policy = now & ~SCHED_RESET_ON_FORK;
    *priority = param.sched_priority;
    return *policy == SCHED_FIFO || *policy == SCHED_RR;
}

void suspend_fixed_priority(const struct target *target, int *policy, int *priority)
{
    const struct sched_param none = {0};
    if (look_at_fixed_priority(target, policy, priority))
        (void)sched_setscheduler(target->tid, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
}

void lower_fixed_priority(const struct target *target, int *policy, int *priority)
{
    if (!look_at_fixed_priority(target, policy, priority))
        return;
    const struct sched_param lower = {.sched_priority = *priority - 1};
    (void)sched_setscheduler(target->tid,
                             (*priority > 1 ? *policy : SCHED_OTHER) | SCHED_RESET_ON_FORK, &lower);
}

void resume_fixed_priority(const struct target *target, int policy, int priority)
{
    const struct sched_param param = {.sched_priority = priority};
    if ((policy != SCHED_FIFO && policy != SCHED_RR) || thread_has_ended(target->pidfd))
        return;
    (void)sched_setscheduler(target->tid, policy | SCHED_RESET_ON_FORK, &param);
    demote_successor(target);
}

int64_t suspend_deadline(const struct target *target, struct overrun *overrun)
{
    /* ns: the kernel may count the bandwidth for this much longer, because the timers of a virtual
     * CPU are late when its host stops the CPU */
    static const int64_t late = INT64_C(100000000);
    overrun->counted_us = 0;
    if (!thread_has_ended(target->pidfd))
        scheduling_suspend(target, overrun);
    return overrun->counted_us == 0 ? 0
                                    : monotonic_now() + (int64_t)overrun->counted_us * 1000 + late;
}

enum apply_result resume_deadline(const struct target *target, const struct attributes *granted,
                                  const struct overrun *overrun)
{
    struct attributes wanted = *granted, now;
    if (thread_has_ended(target->pidfd) || !thread_attributes(target->tid, &now) ||
        policy_is_real_time(now.policy))
        return APPLY_DONE;
    wanted.domain = false; /* no move: the thread is still in its cpuset domain */
    wanted.reset_on_fork = true;
    return scheduling_resume(target, &wanted, overrun);
}

bool end_reclaim_of(const struct target *target)
{
    return thread_has_ended(target->pidfd) || scheduling_end_reclaim(target);
}

bool reclaims_not(const struct target *target)
{
    struct attributes now;
    return thread_attributes(target->tid, &now) && now.policy == POLICY_DEADLINE && !now.reclaim;
}

bool suspension_is_left_over(const struct target *target)
{
    struct attributes now;
    return !thread_has_ended(target->pidfd) && thread_attributes(target->tid, &now) &&
           !policy_is_real_time(now.policy) && now.reset_on_fork;
}
