#include "retry.h"

#include <errno.h>
#include <time.h>

#include "transient.h"
#include "schedattr.h"

static const unsigned kernel_policy[] = {
    [POLICY_OTHER] = SCHED_NORMAL, [POLICY_BATCH] = SCHED_BATCH, [POLICY_IDLE] = SCHED_IDLE,
    [POLICY_FIFO] = SCHED_FIFO,    [POLICY_RR] = SCHED_RR,       [POLICY_DEADLINE] = SCHED_DEADLINE,
};

bool retry_again(int tries)
{
    enum { TRIES = 100 };
    static const struct timespec moment = {.tv_nsec = 1000000};
    if (tries >= TRIES || !is_transient(errno))
        return false;
    (void)nanosleep(&moment, NULL);
    return true;
}

static uint64_t flags_of(const struct attributes *wanted)
{
    const bool is_deadline = wanted->policy == POLICY_DEADLINE;
    return (wanted->reset_on_fork ? SCHED_FLAG_RESET_ON_FORK : 0) |
           (is_deadline && wanted->reclaim ? SCHED_FLAG_RECLAIM : 0) |
           (is_deadline && wanted->overrun_signal ? SCHED_FLAG_DL_OVERRUN : 0);
}

static int set(pid_t tid, const struct attributes *wanted, uint64_t more_flags)
{
    struct kernel_sched_attr kernel = {
        .size = sizeof kernel,
        .policy = kernel_policy[wanted->policy],
        .flags = flags_of(wanted) | more_flags,
        .priority = (unsigned)wanted->priority,
        .nice = wanted->nice,
        .runtime = wanted->runtime * 1000,
        .deadline = wanted->deadline * 1000,
        .period = wanted->period * 1000,
    };
    int result, tries = 0;
    do
        result = sched_setattr_of(tid, &kernel);
    while (result != 0 && retry_again(tries++));
    return result;
}

int retry_set(pid_t tid, const struct attributes *wanted)
{
    return set(tid, wanted, 0);
}

int retry_set_parameters(pid_t tid, const struct attributes *wanted)
{
    return set(tid, wanted, SCHED_FLAG_KEEP_POLICY);
}

bool retry_get(pid_t tid, struct attributes *now)
{
    bool seen;
    int tries = 0;
    do
        seen = thread_attributes(tid, now);
    while (!seen && retry_again(tries++));
    return seen;
}
