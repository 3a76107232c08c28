#include "demote.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "retry.h"
#include "schedattr.h"
#include "tick.h"

static uint64_t owed;
static bool was_deadline; /* one has been demoted from SCHED_DEADLINE */

void demote_begin(void)
{
    owed = 0;
    was_deadline = false;
}

uint64_t demote_owed(void)
{
    return owed;
}

static long long after_colon(const char *line)
{
    const char *colon = strchr(line, ':');
    return colon == NULL ? 0 : strtoll(colon + 1, NULL, 10);
}

struct budget {
    long long remaining, deadline; /* ns */
    long long slept;               /* how often it has gone to sleep */
};

static struct budget budget_of(pid_t tid)
{
    struct budget budget = {0};
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%d/sched", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1); /* 2 KiB, all at once: each look of the kernel's takes 6 us */
    text[got < 0 ? 0 : got] = '\0';
    const char *runtime = strstr(text, "\ndl.runtime "), *until = strstr(text, "\ndl.deadline "), *slept = strstr(text, "\nnr_voluntary_switches ");
    if (runtime != NULL && until != NULL && slept != NULL)
        budget = (struct budget){after_colon(runtime), after_colon(until), after_colon(slept)};
    if (fd >= 0)
        close(fd);
    return budget;
}

void demote_budget(pid_t tid, long long *remaining, long long *deadline)
{
    const struct budget budget = budget_of(tid);
    *remaining = budget.remaining;
    *deadline = budget.deadline;
}

static void set_deadline(pid_t tid, uint64_t runtime, uint64_t deadline, uint64_t period)
{
    const struct kernel_sched_attr attr = {
        .size = sizeof attr,
        .policy = SCHED_DEADLINE,
        .flags = SCHED_FLAG_RESET_ON_FORK,
        .runtime = runtime,
        .deadline = deadline,
        .period = period,
    };
    (void)sched_setattr_of(tid, &attr);
}

/* A SCHED_DEADLINE thread that is demoted from outside while it sleeps never gives its bandwidth back
 * (measured on 6.1 and 6.18), and one that is moved to another domain before its 0-lag time leaves it behind there (on 6.1).
 * Shrunk first to what rounds to nothing, it has nothing to leak. The relative deadline is short: if the thread runs on, and
 * overruns even that, it can be SCHED_DEADLINE again when its absolute deadline has passed, see scheduling.c release_forgotten. */
static void shrink(pid_t tid)
{
    set_deadline(tid, 1024, 1024, UINT64_C(4000000000));
}

/* A thread that has used up its runtime must not be shrunk: what it overran would have to be paid back at the rate of those
 * parameters, and made SCHED_DEADLINE again before that it did not run for a minute and more (6.1, PREEMPT_RT). If it is awake it
 * does not run until its next period. If it fell asleep at that moment, shrinking would stop the timer of its 0-lag time
 * (dl_change_utilization), and nothing would ever take back that it is throttled: 10 of 10 did not run when they woke (6.18).
 * Either way the kernel gives its bandwidth back by itself at its 0-lag time, and forgives it (task_non_contending,
 * inactive_task_timer). The us until then, at most: its deadline is as many periods away as it had overrun before, which is mostly a tick. */
static uint64_t debt(const struct attributes *now, long long remaining)
{
    const uint64_t late = 10000; /* us: timers may be, by a tick */
    const uint64_t tick = tick_length(), over = remaining < 0 ? (uint64_t)-remaining / 1000 : 0;
    return now->period + (over + (over > tick ? over : tick)) * now->period / now->runtime + late;
}

/* One that runs may use that up, and overrun, between the look and the demotion; it is dealt with as if it had. ns. */
static long long nearly_nothing(const struct attributes *now)
{
    static const long long most = 500000;
    const long long half = (long long)now->runtime * 1000 / 2;
    return half < most ? half : most;
}

/* Whoever spins in the kernel for a lock is said to sleep (rtmutex_spin_on_owner); but not to have gone to sleep. */
static bool is_awake(pid_t tid, const struct budget *before, const struct budget *now)
{
    return now->slept == before->slept && (now->remaining != before->remaining || !thread_sleeps(tid));
}

/* What the kernel says of the rest of a runtime is as old as the last tick, and counted anew when the parameters change (update_curr_dl). So
 * one that turns out to have overrun gets its own back; but not if it has fallen asleep, for then nothing would give its bandwidth back. */
static bool can_be_shrunk(pid_t tid, const struct attributes *now, struct budget *budget)
{
    const struct budget before = *budget;
    shrink(tid);
    *budget = budget_of(tid);
    if (budget->remaining > nearly_nothing(now) || !is_awake(tid, &before, budget))
        return true;
    set_deadline(tid, now->runtime * 1000, now->deadline * 1000, now->period * 1000);
    if (budget_of(tid).slept == before.slept)
        return false;
    shrink(tid);
    return true;
}

/* Made SCHED_DEADLINE again in its sleep, it still has the runtime and the deadline that it fell asleep with, until it wakes. */
static void let_go(pid_t tid, const struct attributes *now, struct overrun *overrun)
{
    overrun->due = 0;
    if (now->policy != POLICY_DEADLINE || now->runtime == 0)
        return;
    struct budget budget = budget_of(tid);
    const bool is_paid_back = budget.deadline == overrun->deadline || budget.deadline == 0;
    if ((budget.remaining <= 0 && !is_paid_back) || !can_be_shrunk(tid, now, &budget)) {
        overrun->deadline = budget.deadline;
        overrun->due = debt(now, budget.remaining);
    }
    overrun->seen = budget.deadline;
}

/* What it is between real-time and what comes then: for good, if it was ordinary before. With the former SCHED_RESET_ON_FORK, which tells
 * a thread that the guard suspends from others, at any moment. */
static struct attributes ordinary_like(const struct attributes *former)
{
    struct attributes ordinary = *former;
    if (policy_is_real_time(former->policy))
        ordinary = (struct attributes){.policy = POLICY_OTHER, .reset_on_fork = former->reset_on_fork, .nice = former->nice};
    return ordinary;
}

/* The kernel takes a SCHED_DEADLINE thread that ends off the number of those in its cpuset (cgroup_exit), and once more if it is demoted
 * after that (switched_from_dl; seen on 6.18). A cpuset where that number is zero is passed over when the kernel counts anew what is taken,
 * and what its threads have is granted a second time. So a child of ours that has ended is put on the number; too high it does no harm.
 * Only in the cpuset of this program: those of domains are removed, and their numbers with them. The guard may not fork, and leaves it. */
static void count_once_more(void)
{
    cpu_set_t all; /* it has to be allowed on its whole domain; the kernel cuts this to what there is */
    memset(&all, 0xff, sizeof all);
    pid_t child = fork();
    if (child == 0)
        _exit(sched_setaffinity(0, sizeof all, &all));
    const int pidfd = child < 0 ? -1 : thread_open(child);
    if (pidfd >= 0) {
        struct pollfd end = {.fd = pidfd, .events = POLLIN};
        if (poll(&end, 1, -1) == 1)
            shrink(child);
        close(pidfd);
    }
    if (child > 0)
        (void)waitpid(child, NULL, 0);
}

int demote(pid_t tid, const struct attributes *now, const struct attributes *former, struct overrun *overrun)
{
    const struct attributes ordinary = ordinary_like(former);
    let_go(tid, now, overrun);
    const int result = retry_set(tid, &ordinary);
    was_deadline = was_deadline || (now->policy == POLICY_DEADLINE && result == 0);
    return result;
}

void demote_to_ordinary(pid_t tid, const struct attributes *now)
{
    struct overrun ignored = {0};
    const struct attributes ordinary = {.policy = POLICY_OTHER, .nice = now->nice};
    (void)demote(tid, now, &ordinary, &ignored);
}

void demote_settle(pid_t tid, const struct attributes *former)
{
    const struct attributes ordinary = ordinary_like(former);
    shrink(tid);
    was_deadline = retry_set(tid, &ordinary) == 0 || was_deadline;
}

/* Longer than that nobody waits; the kernel's account is right again when the domain goes. */
static const uint64_t longest_debt = 10000000; /* us */

bool demote_owes(uint64_t us)
{
    owed = us <= longest_debt ? us : 0;
    return owed > 0;
}

void demote_end(int pidfd)
{
    if (was_deadline && thread_has_ended(pidfd))
        count_once_more();
}
