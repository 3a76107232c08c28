#include "guarded-threads.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "scheduling.h"
#include "suspension.h"

static int by_end(const struct guarded *one, const struct guarded *other)
{
    if (one->until != other->until)
        return one->until < other->until ? -1 : 1;
    return one->tid < other->tid ? -1 : one->tid > other->tid;
}

static struct guarded *all; /* by tid */
static RB_HEAD(suspended, guarded) suspended = RB_INITIALIZER(&suspended);
RB_PROTOTYPE(suspended, guarded, of_suspended, by_end)
RB_GENERATE(suspended, guarded, of_suspended, by_end)

static TAILQ_HEAD(, guarded) leaving = TAILQ_HEAD_INITIALIZER(leaving);

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

/* ---- what it has used, and waited ---- */

static int64_t count_of(const struct guarded *guarded)
{
    int64_t count;
    return guarded->event >= 0 && read(guarded->event, &count, sizeof count) == (ssize_t)sizeof count ? count : guarded->base;
}

/* Opened once: to find it anew for each runtime that is used would be a sixth of the guard's work. -1: the kernel does not say. */
static int open_stat(pid_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)tid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool read_stat(const struct guarded *guarded, long long *ran, long long *waits)
{
    char text[96] = "";
    return guarded->stat >= 0 && pread(guarded->stat, text, sizeof text - 1, 0) > 0 && sscanf(text, "%lld %lld", ran, waits) == 2;
}

static int64_t waited(const struct guarded *guarded)
{
    long long ran, waits;
    return read_stat(guarded, &ran, &waits) ? waits : guarded->waited;
}

int64_t guarded_ran(struct guarded *guarded)
{
    long long ran, waits;
    if (guarded->stat < 0)
        guarded->stat = open_stat(guarded->tid);
    return read_stat(guarded, &ran, &waits) ? ran : -1;
}

/* ---- between the states ---- */

static struct target target_of(const struct guarded *guarded)
{
    return (struct target){guarded->tid, guarded->started_by, guarded->pidfd};
}

static void count(const struct guarded *guarded, bool on)
{
    if (guarded->event >= 0)
        (void)ioctl(guarded->event, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static bool is_deadline(const struct guarded *guarded)
{
    return guarded->granted.policy == POLICY_DEADLINE;
}

static void make_ordinary(struct guarded *guarded)
{
    const struct target target = target_of(guarded);
    if (is_deadline(guarded))
        guarded->counted = suspend_deadline(&target, &guarded->overrun);
    else
        suspend_fixed(&target, &guarded->policy, &guarded->priority);
}

static enum apply_result put_in_force(struct guarded *guarded)
{
    enum apply_result done = APPLY_DONE;
    const struct target target = target_of(guarded);
    tell->by(guarded); /* it may still wait for the lock */
    if (is_deadline(guarded))
        done = resume_deadline(&target, &guarded->granted, &guarded->overrun);
    else
        resume_fixed(&target, guarded->policy, guarded->priority);
    tell->by(NULL);
    return done;
}

static void suspend_now(struct guarded *guarded)
{
    make_ordinary(guarded);
    count(guarded, false); /* what it used since the overflow is the next window's: its timer goes on from there */
    guarded->untold++;
}

static void suspend_until(struct guarded *guarded, int64_t until)
{
    guarded->state = GUARDED_SUSPENDED;
    guarded->until = until > guarded->counted ? until : guarded->counted;
    RB_INSERT(suspended, &suspended, guarded);
}

void guarded_suspend(struct guarded *guarded, int64_t until)
{
    if (guarded->state == GUARDED_LEAVING)
        make_ordinary(guarded);
    if (guarded->state != GUARDED_IN_FORCE)
        return;
    suspend_now(guarded);
    suspend_until(guarded, until);
}

/* Its next window begins, if the kernel takes it back. */
static void resume(struct guarded *guarded)
{
    RB_REMOVE(suspended, &suspended, guarded);
    guarded->state = GUARDED_IN_FORCE;
    if (guarded->event >= 0) {
        guarded->base = count_of(guarded);
        guarded->waited = waited(guarded);
        count(guarded, true);
    }
    const enum apply_result done = put_in_force(guarded);
    if (done == APPLY_PENDING)
        guarded->state = GUARDED_LOST;
    else if (done != APPLY_DONE && done != APPLY_GONE)
        suspend_until(guarded, monotonic_now() + guarded->window.period);
}

void guarded_pardon(struct guarded *guarded)
{
    if (guarded->state != GUARDED_SUSPENDED)
        return;
    guarded->untold--;
    RB_REMOVE(suspended, &suspended, guarded);
    suspend_until(guarded, 0);
    if (guarded->counted <= monotonic_now())
        resume(guarded);
    if (guarded->state == GUARDED_LOST)
        suspend_until(guarded, 0); /* for guarded_resume to tell */
}

/* Meanwhile what keeps the kernel from telling goes on. */
static const int64_t until_told = INT64_C(1000000);

struct guarded *guarded_resume(int64_t now)
{
    struct guarded *first;
    while ((first = RB_MIN(suspended, &suspended)) != NULL && first->until <= now) {
        resume(first);
        if (first->state == GUARDED_LOST)
            return first;
        if (first->state != GUARDED_IN_FORCE || tell->has_told(first))
            continue;
        guarded_suspend(first, now + until_told);
        first->untold--;
    }
    return NULL;
}

int64_t guarded_used(const struct guarded *guarded, int64_t now)
{
    return now >= guarded->window.began + guarded->window.period ? 0 : count_of(guarded) - guarded->base;
}

int64_t guarded_deadline(void)
{
    struct guarded *first = RB_MIN(suspended, &suspended);
    return first == NULL ? INT64_MAX : first->until;
}

void guarded_used_up(struct guarded *guarded, int64_t now)
{
    if (guarded->state != GUARDED_IN_FORCE)
        return;
    uint64_t whole = (uint64_t)guarded->window.runtime;
    if (guarded->shortened)
        guarded->shortened = ioctl(guarded->event, PERF_EVENT_IOC_PERIOD, &whole) != 0;
    const int64_t has = count_of(guarded), waits = waited(guarded), runtime = guarded->window.runtime;
    int64_t times = (has - guarded->base) / runtime; /* more than once, if nobody listened meanwhile */
    if (times < 1)
        times = 1;
    const int64_t until = window_used_up(&guarded->window, now, waits - guarded->waited, times);
    guarded->base = has;
    guarded->waited = waits;
    if (until != 0)
        guarded_suspend(guarded, until);
}

bool guarded_lost(struct guarded *guarded)
{
    if (guarded->state == GUARDED_LOST || guarded->state == GUARDED_LEAVING || thread_has_ended(guarded->pidfd))
        return false;
    if (guarded->state == GUARDED_IN_FORCE)
        make_ordinary(guarded);
    else
        RB_REMOVE(suspended, &suspended, guarded);
    guarded->state = GUARDED_LOST;
    return true;
}

/* ---- what the kernel did not tell this guard ---- */

void guarded_ask(struct guarded *guarded)
{
    if ((guarded->state != GUARDED_IN_FORCE && guarded->state != GUARDED_LEAVING) || !thread_sleeps(guarded->tid))
        return;
    tell->forget(guarded);
    guarded_suspend(guarded, monotonic_now() + guarded->window.period);
    guarded_pardon(guarded);
}

/* ---- coming and going ---- */

/* Threads that were let go, and may come back in the same window; the oldest makes room. Nobody is woken to forget one. */
enum { LEFT_MAX = 1024 };
static struct left {
    pid_t tid; /* 0: nobody */
    uint64_t started_by;
    int64_t began, until, used;
    int64_t lends_from, lent;
} left[LEFT_MAX];
static unsigned left_count;

static void remember(const struct guarded *guarded)
{
    const bool is_suspended = guarded->state == GUARDED_SUSPENDED;
    const int64_t until = is_suspended ? guarded->until : guarded->window.began + guarded->window.period;
    left[left_count++ % LEFT_MAX] =
        (struct left){.tid = guarded->tid, .started_by = guarded->started_by, .began = until - guarded->window.period, .until = until,
                      .used = is_suspended ? INT64_MAX : count_of(guarded) - guarded->base, .lends_from = guarded->lends_from, .lent = guarded->lent};
}

static struct left *find_left(const struct guarded *guarded)
{
    for (unsigned i = 0; i < LEFT_MAX && i < left_count; i++) {
        struct left *one = &left[(left_count - 1 - i) % LEFT_MAX];
        if (one->tid == guarded->tid && one->started_by == guarded->started_by)
            return one;
    }
    return NULL;
}

/* Goes on in the window that it was in. */
static void take_up(struct guarded *guarded, int64_t now)
{
    const struct left *one = find_left(guarded);
    if (one == NULL || one->until <= now)
        return;
    guarded->window.began = one->began;
    guarded->lends_from = one->lends_from;
    guarded->lent = one->lent;
    if (one->used >= guarded->window.runtime) {
        guarded->window.began = one->until;
        if (guarded->state == GUARDED_SUSPENDED)
            RB_REMOVE(suspended, &suspended, guarded);
        else
            suspend_now(guarded);
        suspend_until(guarded, one->until);
    } else if (guarded->event >= 0 && one->used > 0) {
        uint64_t rest = (uint64_t)(guarded->window.runtime - one->used);
        guarded->base -= one->used;
        guarded->shortened = ioctl(guarded->event, PERF_EVENT_IOC_PERIOD, &rest) == 0;
    }
}

static void free_it(struct guarded *guarded)
{
    if (guarded->page != MAP_FAILED)
        (void)munmap(guarded->page, (size_t)sysconf(_SC_PAGESIZE) * 2);
    if (guarded->event >= 0)
        close(guarded->event);
    if (guarded->stat >= 0)
        close(guarded->stat);
    close(guarded->pidfd);
    free(guarded);
}

static void drop(struct guarded *guarded)
{
    if (guarded->state == GUARDED_LEAVING)
        TAILQ_REMOVE(&leaving, guarded, of_leaving);
    tell->forget(guarded);
    tell->may_lend(guarded, false);
    HASH_DEL(all, guarded);
    free_it(guarded);
}

/* Mostly somebody else has seen to that. */
void guarded_forget_leaving(void)
{
    struct guarded *guarded, *next;
    for (guarded = TAILQ_FIRST(&leaving); guarded != NULL; guarded = next) {
        struct attributes now;
        next = TAILQ_NEXT(guarded, of_leaving);
        if (thread_has_ended(guarded->pidfd) || !thread_attributes(guarded->tid, &now) || now.policy != POLICY_DEADLINE)
            drop(guarded);
    }
}

static void leave_in_force(struct guarded *guarded)
{
    if (guarded->state == GUARDED_SUSPENDED)
        resume(guarded);
    if (guarded->state == GUARDED_SUSPENDED)
        RB_REMOVE(suspended, &suspended, guarded); /* who let it go sees to it */
    drop(guarded);
}

void guarded_leave(struct guarded *guarded)
{
    const bool would_lend = guarded->state == GUARDED_SUSPENDED && guarded->lends_again > 0 && thread_sleeps(guarded->tid);
    if (guarded->lends == 0 && !would_lend) {
        leave_in_force(guarded);
        return;
    }
    guarded_suspend(guarded, INT64_MAX);
    if (guarded->state == GUARDED_SUSPENDED)
        RB_REMOVE(suspended, &suspended, guarded);
    drop(guarded);
}

void guarded_end(struct guarded *guarded)
{
    if (guarded->state == GUARDED_LEAVING)
        return;
    guarded_forget_leaving();
    remember(guarded);
    if (!is_deadline(guarded)) {
        leave_in_force(guarded);
        return;
    }
    if (guarded->state == GUARDED_SUSPENDED)
        RB_REMOVE(suspended, &suspended, guarded);
    else if (guarded->lends > 0 || guarded->overrun.deadline != 0)
        make_ordinary(guarded); /* who demotes it does not know what it has overrun and paid back */
    guarded->state = GUARDED_LEAVING;
    TAILQ_INSERT_TAIL(&leaving, guarded, of_leaving);
}

struct guarded *guarded_begin(const struct guarded *wanted, bool again, const char **why)
{
    struct guarded *guarded = guarded_find(wanted->tid);
    const bool came_back = guarded != NULL;
    if (came_back && guarded->state != GUARDED_LEAVING)
        remember(guarded);
    if (came_back && guarded->state == GUARDED_SUSPENDED)
        RB_REMOVE(suspended, &suspended, guarded);
    if (came_back)
        drop(guarded);
    guarded_forget_leaving();
    guarded = malloc(sizeof *guarded);
    if (guarded == NULL)
        abort();
    *guarded = *wanted;
    guarded->page = MAP_FAILED;
    guarded->stat = -1;
    guarded->policy = suspend_kernel_policy(wanted->granted.policy);
    guarded->priority = wanted->granted.priority;
    guarded->window.began = monotonic_now();
    if (guarded->event >= 0) {
        /* Read-only: then the kernel overwrites records that nobody reads, and each wakes. */
        guarded->page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) * 2, PROT_READ, MAP_SHARED, guarded->event, 0);
        if (guarded->page == MAP_FAILED) {
            *why = "the memory for its event cannot be had";
            free_it(guarded);
            return NULL;
        }
        guarded->stat = open_stat(guarded->tid);
        guarded->base = count_of(guarded);
        guarded->waited = waited(guarded);
    }
    const bool is_left_over = (again || came_back || is_deadline(guarded)) && suspend_is_left_over(&(struct target){guarded->tid, guarded->started_by, guarded->pidfd});
    if (is_left_over && is_deadline(guarded))
        suspend_until(guarded, 0); /* the kernel may still count what it had */
    else if (is_left_over)
        (void)put_in_force(guarded);
    HASH_ADD(hh, all, tid, sizeof guarded->tid, guarded);
    tell->may_lend(guarded, true);
    count(guarded, true);
    take_up(guarded, monotonic_now());
    if (again && !came_back && find_left(guarded) == NULL)
        guarded_ask(guarded); /* the kernel has told another guard, which is gone, whom it lends to */
    return guarded;
}
