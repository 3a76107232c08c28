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

static uint64_t counted_us;
static bool was_deadline; /* since demote_begin, a thread has been demoted from SCHED_DEADLINE */

void demote_begin(void)
{
    counted_us = 0;
    was_deadline = false;
}

uint64_t demote_counted_us(void)
{
    return counted_us;
}

static long long after_colon(const char *line)
{
    const char *colon = strchr(line, ':');
    return colon == NULL ? 0 : strtoll(colon + 1, NULL, 10);
}

struct budget {
    long long remaining, deadline; /* ns */
    long long slept;               /* number of times that the thread went to sleep */
};

static struct budget budget_of(pid_t tid)
{
    struct budget budget = {0};
    char path[64], text[8192];
    snprintf(path, sizeof path, "/proc/%d/sched", (int)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    /* reads all 2 KiB at once, because the kernel needs 6 us for each read */
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[got < 0 ? 0 : got] = '\0';
    const char *runtime = strstr(text, "\ndl.runtime "), *until = strstr(text, "\ndl.deadline "),
               *slept = strstr(text, "\nnr_voluntary_switches ");
    if (runtime != NULL && until != NULL && slept != NULL)
        budget = (struct budget){after_colon(runtime), after_colon(until), after_colon(slept)};
    if (fd >= 0)
        close(fd);
    return budget;
}

void demote_read_budget(pid_t tid, long long *remaining, long long *deadline)
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

/* Shrinks the thread: gives it such small parameters that its bandwidth counts as 0. This happens
 * before the thread is demoted (made ordinary), for two reasons. A sleeping SCHED_DEADLINE thread
 * that another process demotes never gives its bandwidth back (measured on Linux 6.1 and 6.18). A
 * thread that is moved to another domain before its 0-lag time leaves its bandwidth in the old
 * domain (on 6.1). With a utilization that rounds to 0 (1024 ns in 4 s) no bandwidth can leak. The
 * relative deadline is short: the thread may run on and overrun even these parameters, and it can
 * be SCHED_DEADLINE again only when its absolute deadline has passed (restart_replenishment in
 * scheduling.c). */
static void shrink(pid_t tid)
{
    set_deadline(tid, 1024, 1024, UINT64_C(4000000000));
}

/* Returns an upper bound of the time, in us, until the kernel no longer counts the bandwidth of a
 * thread that has used up its runtime.
 *
 * A thread that has used up its runtime must not be shrunk. It would have to pay back its overrun
 * at the rate of the shrunk parameters: when such a thread was made SCHED_DEADLINE again too early,
 * it did not run for more than a minute (Linux 6.1, PREEMPT_RT). If the thread falls asleep just
 * when it is shrunk, the kernel also stops the timer of the thread's 0-lag time
 * (dl_change_utilization). Then nothing ends the throttling of the thread: 10 of 10 such threads
 * did not run after they woke (6.18).
 *
 * Without shrinking, the kernel gives the bandwidth back at the 0-lag time, and clears the overrun
 * (task_non_contending, inactive_task_timer). The thread's absolute deadline may be some periods
 * away: an earlier overrun of n runtimes (mostly one tick) has postponed the deadline by n
 * periods. */
static uint64_t time_until_0_lag(const struct attributes *now, long long remaining)
{
    const uint64_t late = 10000; /* us: timers may be late by a tick */
    const uint64_t tick = tick_length(), over = remaining < 0 ? (uint64_t)-remaining / 1000 : 0;
    return now->period + (over + (over > tick ? over : tick)) * now->period / now->runtime + late;
}

/* Returns the remaining runtime, in ns, below which a thread counts as having used up its runtime:
 * a running thread may use up such a small rest, and overrun, between the read and the demotion. */
static long long nearly_nothing(const struct attributes *now)
{
    static const long long most = 500000;
    const long long half = (long long)now->runtime * 1000 / 2;
    return half < most ? half : most;
}

/* True if the thread is awake. A thread that spins in the kernel for a lock is shown as sleeping
 * (rtmutex_spin_on_owner), but its number of sleeps is still that of *before. */
static bool is_awake(pid_t tid, const struct budget *before, const struct budget *now)
{
    return now->slept == before->slept &&
           (now->remaining != before->remaining || !thread_sleeps(tid));
}

/* Shrinks the thread, unless the thread turns out to have used up its runtime. The remaining
 * runtime in /proc is as old as the last tick. When the parameters change, the kernel updates this
 * number (update_curr_dl), so an overrun may only show after shrinking. Then the thread gets its
 * own parameters back. A thread that has fallen asleep stays shrunk, because otherwise the kernel
 * would never give its bandwidth back. True: the thread is shrunk. *budget: read after
 * shrinking. */
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

/* Shrinks the thread, or notes its overrun. A thread that was made SCHED_DEADLINE again while it
 * slept shows its old runtime and deadline until it wakes. So a deadline that is already in
 * *overrun belongs to an old overrun, which is paid back. */
static void shrink_or_note_overrun(pid_t tid, const struct attributes *now, struct overrun *overrun)
{
    overrun->counted_us = 0;
    if (now->policy != POLICY_DEADLINE || now->runtime == 0)
        return;
    struct budget budget = budget_of(tid);
    const bool is_paid_back = budget.deadline == overrun->deadline || budget.deadline == 0;
    if ((budget.remaining <= 0 && !is_paid_back) || !can_be_shrunk(tid, now, &budget)) {
        overrun->deadline = budget.deadline;
        overrun->counted_us = time_until_0_lag(now, budget.remaining);
    }
    overrun->last_deadline = budget.deadline;
}

/* Returns the attributes for the demoted thread: *former if the policy in *former is ordinary. The
 * thread always has SCHED_RESET_ON_FORK as in *former, because this flag marks a thread as
 * suspended by the guard. */
static struct attributes ordinary_like(const struct attributes *former)
{
    struct attributes ordinary = *former;
    if (policy_is_real_time(former->policy))
        ordinary = (struct attributes){.policy = POLICY_OTHER,
                                       .reset_on_fork = former->reset_on_fork,
                                       .nice = former->nice};
    return ordinary;
}

/* Repairs the count of SCHED_DEADLINE threads in this program's cpuset. The kernel lowers the count
 * when such a thread ends (cgroup_exit), and again if the ended thread is then demoted
 * (switched_from_dl; seen on Linux 6.18). When the kernel recomputes reserved bandwidth, it skips a
 * cpuset whose count is zero, and then grants the bandwidth of its threads a second time. To raise
 * the count, this function makes a child that has ended SCHED_DEADLINE. A count that is too high
 * does no harm. Cpusets of domains are removed together with their counts. */
void demote_repair(void)
{
    /* SCHED_DEADLINE needs the CPUs of the whole domain; the kernel cuts this set to the CPUs that
     * exist */
    cpu_set_t all;
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

int demote(pid_t tid, const struct attributes *now, const struct attributes *former,
           struct overrun *overrun)
{
    const struct attributes ordinary = ordinary_like(former);
    shrink_or_note_overrun(tid, now, overrun);
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

void demote_return_bandwidth(pid_t tid, const struct attributes *former)
{
    const struct attributes ordinary = ordinary_like(former);
    shrink(tid);
    was_deadline = retry_set(tid, &ordinary) == 0 || was_deadline;
}

/* The longest wait until the kernel no longer counts the bandwidth of a thread. If the kernel
 * counts the bandwidth for longer than this, the thread leaves the domain at once. Then the
 * kernel's account of the domain is wrong until the domain is removed. */
static const uint64_t longest_wait = 10000000; /* us */

bool demote_note_counted(uint64_t us)
{
    counted_us = us <= longest_wait ? us : 0;
    return counted_us > 0;
}

static void (*repair)(void) = demote_repair;

void demote_repair_by(void (*other)(void))
{
    repair = other;
}

/* A thread that is about to end has left its cpuset a moment before its pidfd reports the end. */
static bool is_ending(pid_t tid)
{
    struct identity identity;
    return !thread_look(tid, &identity) || identity.ended;
}

void demote_end(pid_t tid, int pidfd)
{
    if (was_deadline && (thread_has_ended(pidfd) || is_ending(tid)))
        repair();
}
