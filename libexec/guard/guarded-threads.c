#include "guarded-threads.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "inheritance-events.h"
#include "scheduling.h"
#include "suspension.h"
#include "tick.h"
#include "thread-rank.h"

static int by_end(const struct guarded *one, const struct guarded *other)
{
    if (one->resume_at != other->resume_at)
        return one->resume_at < other->resume_at ? -1 : 1;
    return one->tid < other->tid ? -1 : one->tid > other->tid;
}

static struct guarded *all; /* by tid */
static RB_HEAD(suspended, guarded) suspended = RB_INITIALIZER(&suspended);
RB_PROTOTYPE(suspended, guarded, of_suspended, by_end)
RB_GENERATE(suspended, guarded, of_suspended, by_end)

static TAILQ_HEAD(, guarded) ending = TAILQ_HEAD_INITIALIZER(ending);

static const struct guarded_events *tell;

void guarded_listen(const struct guarded_events *events)
{
    tell = events;
}

struct guarded *guarded_find(pid_t tid)
{
    struct guarded *guarded;
    HASH_FIND(hh, all, &tid, sizeof tid, guarded);
    return guarded;
}

struct guarded *guarded_first(void)
{
    return all;
}

/* ---- CPU time used, and time waited for a CPU ---- */

static bool is_deadline(const struct guarded *guarded)
{
    return guarded->granted.policy == POLICY_DEADLINE;
}

static int64_t cpu_time_of(const struct guarded *guarded)
{
    int64_t count;
    if (guarded->event < 0 || is_deadline(guarded) ||
        read(guarded->event, &count, sizeof count) != (ssize_t)sizeof count)
        return guarded->count_at_window;
    return guarded->group == NULL ? count : count + process_group_used(guarded->group);
}

/* Opens /proc/TID/schedstat. The file is opened once for each thread, because opening it for each
 * used runtime would be a sixth of the guard's work. -1: errno says why. */
static int open_schedstat(pid_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)tid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool read_schedstat(const struct guarded *guarded, long long *ran, long long *waits)
{
    char text[96] = "";
    return guarded->schedstat >= 0 && pread(guarded->schedstat, text, sizeof text - 1, 0) > 0 &&
           sscanf(text, "%lld %lld", ran, waits) == 2;
}

/* Returns how long the thread has waited for a CPU. No waiting time counts for a runtime of a whole
 * process, because a thread that waits for another thread of the process does not delay the
 * process. */
static int64_t wait_time_of(const struct guarded *guarded)
{
    long long ran, waits;
    return guarded->group == NULL && read_schedstat(guarded, &ran, &waits)
               ? waits
               : guarded->wait_at_window;
}

int64_t guarded_ran(struct guarded *guarded)
{
    long long ran, waits;
    if (guarded->schedstat < 0)
        guarded->schedstat = open_schedstat(guarded->tid);
    return read_schedstat(guarded, &ran, &waits) ? ran : -1;
}

/* The kernel brings the count of the event of a running thread up to date for each read. */
enum guarded_run guarded_run(struct guarded *guarded)
{
    if (guarded->event < 0 || is_deadline(guarded))
        return GUARDED_RUN_UNKNOWN;
    const int64_t count = cpu_time_of(guarded);
    return cpu_time_of(guarded) > count ? GUARDED_RUNS : GUARDED_RUNS_NOT;
}

/* A throttled thread has no remaining runtime. If the thread woke after its deadline, the kernel has
 * taken the rest (dl_check_constrained_dl). */
bool guarded_is_throttled(const struct guarded *guarded)
{
    long long remaining, deadline;
    if (!is_deadline(guarded))
        return false;
    demote_read_budget(guarded->tid, &remaining, &deadline);
    return remaining <= 0 && deadline != 0;
}

/* ---- SCHED_DEADLINE threads that hold locks ---- */

static bool some_ask;         /* a thread has asks_for_event */
static bool some_end_reclaim; /* a thread has ends_reclaim */

static void ask_for_event(struct guarded *guarded)
{
    some_ask = guarded->asks_for_event = true;
}

/* This function runs while the kernel's reports are read, so it only notes what has to be done: a
 * change of the thread could cause reports. */
void guarded_waited_for(struct guarded *guarded)
{
    if (guarded->granted.reclaim)
        some_end_reclaim = guarded->ends_reclaim = true;
}

void guarded_holds(struct guarded *guarded, int64_t now)
{
    guarded_waited_for(guarded);
    if (guarded->holds || !is_deadline(guarded) || guarded->state == GUARDED_LOST ||
        guarded->state == GUARDED_ENDING)
        return;
    const int64_t ran = guarded_ran(guarded);
    if (ran < 0)
        return;
    guarded->holds = true;
    overuse_begin(&guarded->overuse, now, ran);
    if (guarded->event < 0)
        ask_for_event(guarded);
}

struct guarded *guarded_next_holder(void)
{
    struct guarded *guarded = some_ask ? all : NULL;
    while (guarded != NULL && !guarded->asks_for_event)
        guarded = guarded->hh.next;
    some_ask = guarded != NULL;
    if (guarded != NULL)
        guarded->asks_for_event = false;
    return guarded;
}

/* With PREEMPT_RT a thread that is lent SCHED_DEADLINE may keep the event from waking the guard, so the
 * guard does not rely on the event. */
bool guarded_is_counted(const struct guarded *guarded)
{
    return guarded->holds && guarded->event >= 0 && !inheritance_events_may_fail();
}

static void count_overuse(struct guarded *guarded, int64_t now)
{
    const int64_t ran = guarded_ran(guarded);
    if (guarded->state == GUARDED_IN_FORCE && ran >= 0)
        overuse_count(&guarded->overuse, now, ran, guarded->window.runtime, guarded->window.period);
}

int64_t guarded_overuse(struct guarded *guarded, int64_t now, int64_t lent)
{
    if (!guarded->holds)
        return 0;
    count_overuse(guarded, now);
    return overuse_take(&guarded->overuse, guarded->window.runtime, (int64_t)tick_length() * 1000,
                        lent);
}

void guarded_pay(struct guarded *guarded, int64_t now, int64_t time)
{
    if (!guarded->holds)
        return;
    count_overuse(guarded, now);
    overuse_pay(&guarded->overuse, time);
}

/* ---- between the states ---- */

static struct target target_of(const struct guarded *guarded)
{
    return (struct target){guarded->tid, guarded->started_by, guarded->pidfd};
}

static void count_cpu_time(const struct guarded *guarded, bool on)
{
    if (guarded->event >= 0)
        (void)ioctl(guarded->event, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
    if (guarded->group != NULL)
        process_group_count(guarded->group, on);
}

/* A look at a member (tell->made_ordinary) costs the guard as much again as two suspensions. */
enum { COST_OF_LOOK = 3 };

/* True: another thread may wait for a lock of a member without a report of the kernel. A
 * SCHED_DEADLINE thread waits for no member without a report. */
static bool may_be_lent_to(const struct guarded *guarded)
{
    const struct guarded *other = all;
    while (other != NULL && (other == guarded || is_deadline(other)))
        other = other->hh.next;
    return other != NULL;
}

/* Counts the members beyond the first thread. A member that the guard also looks at pays for three
 * in the distance of suspensions (overrun-window.h). */
static void count_others(struct guarded *guarded)
{
    const int64_t size = guarded->group == NULL ? 1 : process_group_size(guarded->group);
    guarded->others = size > 1 ? size - 1 : 0;
    guarded->window.others = guarded->others * (may_be_lent_to(guarded) ? COST_OF_LOOK : 1);
}

static void make_ordinary(struct guarded *guarded)
{
    const struct target target = target_of(guarded);
    if (is_deadline(guarded))
        guarded->counted_until = suspend_deadline(&target, &guarded->overrun);
    else
        suspend_fixed_priority(&target, &guarded->suspended_policy, &guarded->suspended_priority);
    const bool look = guarded->group != NULL && may_be_lent_to(guarded);
    if (guarded->group != NULL)
        process_group_suspend(guarded->group, look ? tell->made_ordinary : NULL);
    tell->made_ordinary(guarded->tid);
    count_others(guarded);
}

static enum apply_result put_in_force(struct guarded *guarded)
{
    enum apply_result done = APPLY_DONE;
    const struct target target = target_of(guarded);
    /* If the thread still waits for a lock, the holder of the lock is boosted when the guard makes
     * the thread real-time again. The kernel then reports the guard as the cause of the boost. So
     * the thread is named here as the lender of these boosts. */
    tell->attribute_boosts(guarded);
    if (guarded->group != NULL && !process_group_resume(guarded->group))
        done = APPLY_BUSY;
    else if (is_deadline(guarded))
        done = resume_deadline(&target, &guarded->granted, &guarded->overrun);
    else
        resume_fixed_priority(&target, guarded->suspended_policy, guarded->suspended_priority);
    tell->attribute_boosts(NULL);
    count_others(guarded);
    return done;
}

/* ---- threads that cost the guard much time ---- */

/* The kernel boosts a whole chain of threads, each of which waits for the next one, within the
 * guard's call. A user could keep the guard from all other work by chains of a thousand threads. So
 * threads whose suspension and resumption take long are resumed seldom: all of them together take a
 * twentieth of a CPU. */
enum { COSTLY_PAUSE = 20 };
static int64_t costly_at; /* no thread that costs much is resumed before this time */

/* Returns the time that the guard needs for a suspension and a resumption beyond the usual time,
 * ns. */
static int64_t excess_of(const struct guarded *guarded)
{
    const int64_t usual = INT64_C(1000000), usual_each = INT64_C(50000);
    const int64_t excess =
        guarded->suspension_took + guarded->resumption_took - usual - guarded->others * usual_each;
    return excess > 0 ? excess : 0;
}

/* Returns when a thread can be resumed whose suspension ends at `until`. */
static int64_t resumption_after(const struct guarded *guarded, int64_t until)
{
    const int64_t excess = excess_of(guarded), now = monotonic_now();
    if (excess == 0)
        return until;
    const int64_t at = costly_at > now ? costly_at : now;
    costly_at = at + excess * COSTLY_PAUSE;
    return until > at ? until : at;
}

/* The CPU time of the guard. Elapsed time has the time that the host of a virtual machine takes. */
static int64_t own_cpu_time(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void suspend_thread(struct guarded *guarded)
{
    const int64_t began = own_cpu_time();
    if (guarded->holds)
        count_overuse(guarded, monotonic_now());
    make_ordinary(guarded);
    guarded->suspension_took = own_cpu_time() - began;
    /* CPU time that the thread has used since the event fired is not lost: the event keeps its
     * count while it is stopped, and so counts this time in the next window. */
    count_cpu_time(guarded, false);
    guarded->unreported++;
}

static void enter_suspended(struct guarded *guarded, int64_t until)
{
    guarded->state = GUARDED_SUSPENDED;
    if (until != 0 && until != INT64_MAX) /* 0: the suspension is undone */
        until = resumption_after(guarded, until);
    guarded->resume_at = until > guarded->counted_until ? until : guarded->counted_until;
    RB_INSERT(suspended, &suspended, guarded);
}

void guarded_suspend(struct guarded *guarded, int64_t until)
{
    if (guarded->state == GUARDED_ENDING)
        make_ordinary(guarded);
    if (guarded->state != GUARDED_IN_FORCE)
        return;
    suspend_thread(guarded);
    enter_suspended(guarded, until);
}

/* PREEMPT_RT refuses to change a SCHED_DEADLINE thread that holds a lock in the kernel. Then the
 * thread is ordinary for a period, and SCHED_DEADLINE without reclaiming afterwards. */
static void end_reclaim(struct guarded *guarded)
{
    const struct target target = target_of(guarded);
    guarded->ends_reclaim = false;
    if (!guarded->granted.reclaim)
        return;
    guarded->granted.reclaim = false;
    if (guarded->state == GUARDED_IN_FORCE && !end_reclaim_of(&target))
        guarded_suspend(guarded, monotonic_now() + guarded->window.period);
}

void guarded_end_reclaims(void)
{
    if (!some_end_reclaim)
        return;
    some_end_reclaim = false;
    for (struct guarded *guarded = all; guarded != NULL; guarded = guarded->hh.next)
        if (guarded->ends_reclaim)
            end_reclaim(guarded);
}

/* ns. How long a thread stays suspended if the kernel refuses to make it real-time again. The guard
 * looks at a process with too many threads at most once a second. */
static int64_t pause_of(const struct guarded *guarded)
{
    const int64_t second = INT64_C(1000000000);
    return guarded->group != NULL && guarded->window.period < second ? second
                                                                     : guarded->window.period;
}

/* ---- threads that a process has started ---- */

/* ns. The least time between two wakeups of the guard by a process that starts threads all the
 * time. At each wakeup the guard looks at all members. So start_pause_each is added for each
 * member, twenty times the CPU time that the guard needs for one member. */
static const int64_t start_pause = INT64_C(8000000), start_pause_each = INT64_C(30000);

void guarded_started(struct guarded *guarded, int64_t now)
{
    guarded->look_at = now + start_pause + guarded->others * start_pause_each;
}

static void look_again_at_new(struct guarded *guarded)
{
    if (guarded->group != NULL && process_group_has_new(guarded->group))
        guarded_started(guarded, monotonic_now());
}

static void look_for_started(struct guarded *guarded)
{
    guarded->look_at = INT64_MAX;
    if (guarded->state != GUARDED_IN_FORCE)
        return;
    tell->attribute_boosts(guarded);
    const bool resumed = process_group_resume(guarded->group);
    tell->attribute_boosts(NULL);
    count_others(guarded);
    if (resumed)
        look_again_at_new(guarded);
    else
        guarded_suspend(guarded, monotonic_now() + pause_of(guarded));
}

struct guarded *guarded_start_due(int64_t now)
{
    for (struct guarded *guarded = all; guarded != NULL; guarded = guarded->hh.next)
        if (guarded->group != NULL && guarded->look_at <= now) {
            look_for_started(guarded);
            return guarded;
        }
    return NULL;
}

int64_t guarded_next_start(void)
{
    int64_t first = INT64_MAX;
    for (const struct guarded *guarded = all; guarded != NULL; guarded = guarded->hh.next)
        if (guarded->group != NULL && guarded->look_at < first)
            first = guarded->look_at;
    return first;
}

/* ---- in force again ---- */

/* Ends a suspension: the thread runs as granted again (IN_FORCE). If the kernel refuses, the thread
 * stays suspended for another period. If the thread sleeps and the kernel cannot change it before
 * it wakes, the thread is LOST. */
static void resume(struct guarded *guarded)
{
    RB_REMOVE(suspended, &suspended, guarded);
    guarded->state = GUARDED_IN_FORCE;
    if (guarded->event >= 0) {
        guarded->count_at_window = cpu_time_of(guarded);
        guarded->wait_at_window = wait_time_of(guarded);
        count_cpu_time(guarded, true);
    }
    const int64_t began = own_cpu_time();
    const enum apply_result done = put_in_force(guarded);
    if (guarded->holds)
        overuse_skip(&guarded->overuse, guarded_ran(guarded));
    guarded->resumption_took = own_cpu_time() - began;
    look_again_at_new(guarded);
    if (done == APPLY_PENDING)
        guarded->state = GUARDED_LOST;
    else if (done != APPLY_DONE && done != APPLY_GONE) {
        count_cpu_time(guarded, false);
        enter_suspended(guarded, monotonic_now() + pause_of(guarded));
    }
}

/* The thread goes on in its window, and has used as much of its runtime as before. */
void guarded_undo_suspension(struct guarded *guarded)
{
    const int64_t count = guarded->count_at_window, waits = guarded->wait_at_window;
    if (guarded->state != GUARDED_SUSPENDED)
        return;
    guarded->unreported--;
    RB_REMOVE(suspended, &suspended, guarded);
    enter_suspended(guarded, 0);
    if (guarded->counted_until <= monotonic_now())
        resume(guarded);
    if (guarded->state == GUARDED_IN_FORCE) {
        guarded->count_at_window = count;
        guarded->wait_at_window = waits;
    }
    if (guarded->state == GUARDED_LOST)
        /* guarded_resume_due then finds the thread LOST, and returns it */
        enter_suspended(guarded, 0);
}

/* ns until the next attempt to have the kernel report a boost. The time is short, because the boost
 * goes on meanwhile. */
static const int64_t retry_pause = INT64_C(1000000);

struct guarded *guarded_resume_due(int64_t now)
{
    struct guarded *first;
    while ((first = RB_MIN(suspended, &suspended)) != NULL && first->resume_at <= now) {
        resume(first);
        if (first->state == GUARDED_LOST)
            return first;
        if (first->state != GUARDED_IN_FORCE || tell->boosts_reported(first))
            continue;
        guarded_suspend(first, now + retry_pause);
        first->unreported--;
    }
    return NULL;
}

int64_t guarded_used_in_window(const struct guarded *guarded, int64_t now)
{
    return now >= guarded->window.began + guarded->window.period
               ? 0
               : cpu_time_of(guarded) - guarded->count_at_window;
}

int64_t guarded_next_resume(void)
{
    struct guarded *first = RB_MIN(suspended, &suspended);
    return first == NULL ? INT64_MAX : first->resume_at;
}

void guarded_used_up(struct guarded *guarded, int64_t now)
{
    if (guarded->state != GUARDED_IN_FORCE)
        return;
    uint64_t whole = (uint64_t)guarded->window.runtime;
    if (guarded->shortened)
        guarded->shortened = ioctl(guarded->event, PERF_EVENT_IOC_PERIOD, &whole) != 0;
    const int64_t has = cpu_time_of(guarded), waits = wait_time_of(guarded),
                  runtime = guarded->window.runtime;
    /* `times` is more than 1 if the guard could not run when the first runtime was used up. */
    int64_t times = (has - guarded->count_at_window) / runtime;
    if (times < 1)
        times = 1;
    const int64_t until =
        window_used_up(&guarded->window, now, waits - guarded->wait_at_window, times);
    guarded->count_at_window = has;
    guarded->wait_at_window = waits;
    if (until != 0)
        guarded_suspend(guarded, until);
}

static void close_event(struct guarded *guarded)
{
    if (guarded->event_page != MAP_FAILED)
        (void)munmap(guarded->event_page, (size_t)sysconf(_SC_PAGESIZE) * 2);
    if (guarded->event >= 0)
        close(guarded->event);
    guarded->event_page = MAP_FAILED;
    guarded->event = -1;
}

bool guarded_lose_counter(struct guarded *guarded)
{
    if (guarded->state == GUARDED_LOST || guarded->state == GUARDED_ENDING ||
        thread_has_ended(guarded->pidfd))
        return false;
    if (is_deadline(guarded)) {
        close_event(guarded);
        ask_for_event(guarded);
        return false;
    }
    if (guarded->state == GUARDED_IN_FORCE)
        make_ordinary(guarded);
    else
        RB_REMOVE(suspended, &suspended, guarded);
    guarded->state = GUARDED_LOST;
    return true;
}

/* ---- boosts that the kernel did not report ---- */

static bool is_never_over(pid_t tid)
{
    (void)tid;
    return false;
}

static void renew_boosts_of_members(struct guarded *guarded)
{
    enum { ANY_PRIORITY = -1 };
    tell->attribute_boosts(guarded);
    (void)process_group_try(guarded->group, ANY_PRIORITY, false, is_never_over, 0);
    tell->attribute_boosts(NULL);
}

void guarded_renew_boosts(struct guarded *guarded)
{
    if (guarded->is_lowered ||
        (guarded->state != GUARDED_IN_FORCE && guarded->state != GUARDED_ENDING))
        return;
    if (guarded->group != NULL)
        renew_boosts_of_members(guarded);
    if (!thread_sleeps(guarded->tid))
        return;
    tell->forget(guarded);
    guarded_suspend(guarded, monotonic_now() + guarded->window.period);
    guarded_undo_suspension(guarded);
}

/* ---- lowering ---- */

bool guarded_lower(struct guarded *guarded, int priority, bool own, bool awake_members)
{
    const struct target target = target_of(guarded);
    if (is_deadline(guarded) || guarded->state != GUARDED_IN_FORCE)
        return false;
    guarded->is_lowered = own && rank_is(guarded->tid, priority);
    if (guarded->is_lowered)
        lower_fixed_priority(&target, &guarded->suspended_policy, &guarded->suspended_priority);
    if (guarded->group != NULL)
        return process_group_lower(guarded->group, priority, awake_members) || guarded->is_lowered;
    return guarded->is_lowered;
}

bool guarded_raise(struct guarded *guarded)
{
    const struct target target = target_of(guarded);
    const bool was_lowered = guarded->is_lowered;
    if (was_lowered)
        resume_fixed_priority(&target, guarded->suspended_policy, guarded->suspended_priority);
    guarded->is_lowered = false;
    return (guarded->group != NULL && process_group_raise(guarded->group)) || was_lowered;
}

/* ---- coming and going ---- */

/* The last windows of threads that the guard no longer guards: a thread that is guarded again
 * before its window is over continues in that window. A new entry overwrites the oldest entry. */
enum { LAST_WINDOWS_MAX = 1024 };
static struct last_window {
    pid_t tid; /* 0: unused */
    uint64_t started_by;
    int64_t began, until, used; /* ns; used is INT64_MAX: the whole runtime */
    int64_t lend_window_began, lent, paid_until;
    bool holds;
    struct overuse overuse;
} last_windows[LAST_WINDOWS_MAX];
static unsigned last_windows_count;

static void remember_window(const struct guarded *guarded)
{
    const bool is_suspended = guarded->state == GUARDED_SUSPENDED;
    const int64_t until =
        is_suspended ? guarded->resume_at : guarded->window.began + guarded->window.period;
    last_windows[last_windows_count++ % LAST_WINDOWS_MAX] = (struct last_window){
        .tid = guarded->tid,
        .started_by = guarded->started_by,
        .began = until - guarded->window.period,
        .until = until,
        .used = is_suspended ? INT64_MAX : cpu_time_of(guarded) - guarded->count_at_window,
        .lend_window_began = guarded->lend_window_began,
        .lent = guarded->lent,
        .paid_until = guarded->window.paid_until,
        .holds = guarded->holds,
        .overuse = guarded->overuse,
    };
}

static struct last_window *find_last_window(const struct guarded *guarded)
{
    for (unsigned i = 0; i < LAST_WINDOWS_MAX && i < last_windows_count; i++) {
        struct last_window *one = &last_windows[(last_windows_count - 1 - i) % LAST_WINDOWS_MAX];
        if (one->tid == guarded->tid && one->started_by == guarded->started_by)
            return one;
    }
    return NULL;
}

/* Continues the window that the thread was in when guarding ended, if the window is not over. */
static void continue_window(struct guarded *guarded, int64_t now)
{
    const struct last_window *one = find_last_window(guarded);
    if (one != NULL)
        guarded->window.paid_until = one->paid_until;
    if (one != NULL && one->holds && is_deadline(guarded)) {
        guarded->holds = true;
        guarded->overuse = one->overuse;
        if (guarded->event < 0)
            ask_for_event(guarded);
        end_reclaim(guarded);
    }
    if (one == NULL || one->until <= now)
        return;
    guarded->window.began = one->began;
    guarded->lend_window_began = one->lend_window_began;
    guarded->lent = one->lent;
    if (one->used >= guarded->window.runtime) {
        guarded->window.began = one->until;
        if (guarded->state == GUARDED_SUSPENDED)
            RB_REMOVE(suspended, &suspended, guarded);
        else
            suspend_thread(guarded);
        enter_suspended(guarded, one->until);
    } else if (guarded->event >= 0 && one->used > 0) {
        uint64_t rest = (uint64_t)(guarded->window.runtime - one->used);
        guarded->count_at_window -= one->used;
        guarded->shortened = ioctl(guarded->event, PERF_EVENT_IOC_PERIOD, &rest) == 0;
    }
}

static void free_guarded(struct guarded *guarded)
{
    close_event(guarded);
    if (guarded->schedstat >= 0)
        close(guarded->schedstat);
    process_group_close(guarded->group);
    close(guarded->pidfd);
    free(guarded);
}

static void drop(struct guarded *guarded)
{
    if (guarded->state == GUARDED_ENDING)
        TAILQ_REMOVE(&ending, guarded, of_ending);
    tell->forget(guarded);
    tell->may_lend(guarded, false);
    HASH_DEL(all, guarded);
    free_guarded(guarded);
}

/* Removes the ENDING threads that the attach helper has made ordinary by now, usually all of
 * them. */
void guarded_forget_ended(void)
{
    struct guarded *guarded, *next;
    for (guarded = TAILQ_FIRST(&ending); guarded != NULL; guarded = next) {
        struct attributes now;
        next = TAILQ_NEXT(guarded, of_ending);
        if (thread_has_ended(guarded->pidfd) || !thread_attributes(guarded->tid, &now) ||
            now.policy != POLICY_DEADLINE)
            drop(guarded);
    }
}

static void leave_in_force(struct guarded *guarded)
{
    if (guarded->state == GUARDED_SUSPENDED)
        resume(guarded);
    if (guarded->state == GUARDED_SUSPENDED)
        /* The kernel has refused: the thread stays ordinary until the broker or the next guard
         * makes it real-time again. */
        RB_REMOVE(suspended, &suspended, guarded);
    drop(guarded);
}

void guarded_leave(struct guarded *guarded)
{
    const bool would_lend = guarded->state == GUARDED_SUSPENDED && guarded->report_attempts > 0 &&
                            thread_sleeps(guarded->tid);
    if (guarded->boost_count == 0 && !would_lend) {
        leave_in_force(guarded);
        return;
    }
    guarded_suspend(guarded, INT64_MAX);
    if (guarded->state == GUARDED_SUSPENDED)
        RB_REMOVE(suspended, &suspended, guarded);
    drop(guarded);
}

/* The attach helper makes the FIFO or RR thread ordinary next. If another thread waits for a lock
 * of this thread, the other thread then lends its rank. Here the guard also looks at the members of a
 * group (made_ordinary). After the attach helper the guard looks at the thread alone
 * (boost_reports_look_at). */
static void end_ordinary(struct guarded *guarded)
{
    if (guarded->state == GUARDED_IN_FORCE)
        make_ordinary(guarded);
    if (guarded->state == GUARDED_SUSPENDED)
        RB_REMOVE(suspended, &suspended, guarded);
    drop(guarded);
}

void guarded_end(struct guarded *guarded, bool detaches)
{
    if (guarded->state == GUARDED_ENDING)
        return;
    guarded_forget_ended();
    remember_window(guarded);
    if (!is_deadline(guarded) && detaches) {
        end_ordinary(guarded);
        return;
    }
    if (!is_deadline(guarded)) {
        /* Resumes only the first thread. The other threads may stay ordinary, because the attach
         * helper acts on all threads of the process next. */
        process_group_close(guarded->group);
        guarded->group = NULL;
        leave_in_force(guarded);
        return;
    }
    if (guarded->state == GUARDED_SUSPENDED)
        RB_REMOVE(suspended, &suspended, guarded);
    else if (guarded->boost_count > 0 || guarded->overrun.deadline != 0)
        /* The guard makes the thread ordinary before the attach helper does so. The helper does not
         * know about an overrun. */
        make_ordinary(guarded);
    guarded->state = GUARDED_ENDING;
    TAILQ_INSERT_TAIL(&ending, guarded, of_ending);
}

struct guarded *guarded_begin(const struct guarded *wanted, bool again, const char **why)
{
    struct guarded *guarded = guarded_find(wanted->tid);
    const bool came_back = guarded != NULL;
    if (came_back && guarded->state != GUARDED_ENDING)
        remember_window(guarded);
    if (came_back && guarded->state == GUARDED_SUSPENDED)
        RB_REMOVE(suspended, &suspended, guarded);
    if (came_back)
        drop(guarded);
    guarded_forget_ended();
    guarded = malloc(sizeof *guarded);
    if (guarded == NULL)
        abort();
    *guarded = *wanted;
    guarded->event_page = MAP_FAILED;
    guarded->look_at = INT64_MAX;
    guarded->schedstat = -1;
    guarded->suspended_policy = suspend_kernel_policy(wanted->granted.policy);
    guarded->suspended_priority = wanted->granted.priority;
    guarded->window.began = monotonic_now();
    if (guarded->event >= 0) {
        /* Mapped read-only: in a writable ring the kernel drops records that nobody reads, and a
         * dropped record wakes nobody. */
        guarded->event_page =
            mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) * 2, PROT_READ, MAP_SHARED, guarded->event, 0);
        if (guarded->event_page == MAP_FAILED) {
            *why = "no memory for the perf event";
            free_guarded(guarded);
            return NULL;
        }
        guarded->schedstat = open_schedstat(guarded->tid);
        guarded->count_at_window = cpu_time_of(guarded);
        guarded->wait_at_window = wait_time_of(guarded);
    }
    const bool is_left_over =
        (again || came_back || is_deadline(guarded)) &&
        suspension_is_left_over(
            &(struct target){guarded->tid, guarded->started_by, guarded->pidfd});
    if (is_left_over && is_deadline(guarded))
        /* guarded_resume_due resumes the thread when the kernel no longer counts the thread's
         * former bandwidth */
        enter_suspended(guarded, 0);
    else if (is_left_over)
        (void)put_in_force(guarded);
    HASH_ADD(hh, all, tid, sizeof guarded->tid, guarded);
    tell->may_lend(guarded, true);
    count_cpu_time(guarded, true);
    if (guarded->granted.reclaim &&
        reclaims_not(&(struct target){guarded->tid, guarded->started_by, guarded->pidfd}))
        guarded_holds(guarded, monotonic_now()); /* an earlier guard has ended the reclaiming */
    continue_window(guarded, monotonic_now());
    if (guarded->group != NULL && guarded->state == GUARDED_IN_FORCE)
        look_for_started(guarded);
    /* The kernel has reported the boosts by this thread only to an earlier guard, so they have to be
     * reported again. A FIFO or RR thread may also lend to a thread that became ordinary before this
     * thread was guarded. The guard itself makes the members of a group real-time, and the kernel
     * reports their boosts then. */
    const bool is_unreported = again && !came_back && find_last_window(guarded) == NULL;
    if (is_unreported || (!is_deadline(guarded) && guarded->group == NULL))
        guarded_renew_boosts(guarded);
    return guarded;
}
