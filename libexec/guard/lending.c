#include "lending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/utsname.h>

#include "clock.h"
#include "promotions.h"
#include "inheritance-events.h"

enum { BOOSTS_MAX = 1024, RT_PRIORITIES = 100 };

/* ns. As long as boosts keep coming, the events are read at this interval, without a wakeup for
 * each. */
static const int64_t read_interval = INT64_C(1000000);

struct boost {
    pid_t tid;              /* the thread that is boosted */
    struct guarded *lender; /* the guarded thread that lends its rank; NULL: unknown */
    /* the lender is unknown: number of guarded threads of this priority that were found not to be
     * the lender */
    unsigned tried;
    int64_t try_at; /* when to try the next candidate; INT64_MAX: no more candidates */
    int priority;   /* the kernel's number: 99 - rt_priority; -1 under SCHED_DEADLINE */
    int64_t since;
    TAILQ_ENTRY(boost) of_unknown;
    UT_hash_handle hh; /* by tid */
};
static struct boost *boosts;
static TAILQ_HEAD(, boost) unknown = TAILQ_HEAD_INITIALIZER(unknown);
static TAILQ_HEAD(, guarded) lenders = TAILQ_HEAD_INITIALIZER(lenders);

static int64_t read_at = INT64_MAX;  /* next read of the events; INT64_MAX: events wake the guard */
static bool is_preempt_rt;           /* with PREEMPT_RT a wakeup may fail to come (lending.h) */
static int64_t last_unprompted_read; /* when the events were last read without a wakeup or timer */
/* until this time the attach helper may make a thread SCHED_DEADLINE */
static int64_t expect_until;
static struct guarded *resuming; /* the guard is putting this thread in force; or NULL */

static int64_t later(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* ---- what a guarded thread lends ---- */

static int kernel_priority(const struct guarded *guarded)
{
    return guarded->granted.policy == POLICY_DEADLINE
               ? -1
               : RT_PRIORITIES - 1 - guarded->granted.priority;
}

/* Returns how many threads run with the lender's rank at once: one, because a thread waits for one
 * lock at a time. But the members of a group may wait for several locks. */
static int64_t lent_at_once(const struct guarded *lender)
{
    return lender->group != NULL ? lender->boost_count : 1;
}

static void count_lent(struct guarded *lender, int64_t now)
{
    if (now > lender->lent_counted_to)
        lender->lent += (now - lender->lent_counted_to) * lent_at_once(lender);
    lender->lent_counted_to = now;
}

static void begin_lending(struct guarded *lender, int64_t now)
{
    if (lender->boost_count > 0) {
        count_lent(lender, now);
        lender->boost_count++;
        return;
    }
    lender->boost_count = 1;
    if (now >= lender->lend_window_began + lender->window.period) {
        lender->lend_window_began = now;
        lender->lent = 0;
    }
    lender->lent_counted_to = now;
    lender->used_itself = guarded_used_in_window(lender, now);
    TAILQ_INSERT_TAIL(&lenders, lender, of_lenders);
}

static void end_lending(struct guarded *lender, int64_t now)
{
    count_lent(lender, now);
    if (--lender->boost_count == 0)
        TAILQ_REMOVE(&lenders, lender, of_lenders);
}

static struct boost *boost_of(pid_t tid)
{
    struct boost *boost;
    HASH_FIND(hh, boosts, &tid, sizeof tid, boost);
    return boost;
}

static void end_boost(struct boost *boost, int64_t now)
{
    if (boost->lender != NULL)
        end_lending(boost->lender, now);
    else
        TAILQ_REMOVE(&unknown, boost, of_unknown);
    HASH_DEL(boosts, boost);
    free(boost);
}

/* Returns the process with one runtime whose group has the thread as a member; NULL: none. Looks
 * only at processes of this priority: for the wait of an ordinary thread there are none, so the
 * guard does not list their members. */
static struct guarded *process_of(pid_t tid, int priority)
{
    struct guarded *guarded = guarded_first();
    while (guarded != NULL &&
           (guarded->group == NULL || kernel_priority(guarded) != priority ||
            guarded->state != GUARDED_IN_FORCE || !process_group_has(guarded->group, tid)))
        guarded = guarded->hh.next;
    return guarded;
}

static struct guarded *lender_by(pid_t caller, int priority)
{
    struct guarded *guarded = guarded_find(caller);
    const struct boost *boost = boost_of(caller);
    if (guarded != NULL)
        return guarded;
    if (boost != NULL && boost->lender != NULL)
        return boost->lender;
    return resuming != NULL ? resuming : process_of(caller, priority);
}

static void forget(const struct guarded *lender);

/* How often a lender is put in force again at most, to have the kernel report its boosts. */
enum { REPORT_ATTEMPTS = 5 };

static void suspend_lender(struct guarded *lender, int64_t now)
{
    lender->report_attempts = lender->boost_count > 0 ? REPORT_ATTEMPTS : 0;
    const int64_t end = later(lender->lend_window_began + lender->window.period, now + 1);
    guarded_suspend(lender, window_suspend(&lender->window, now, end));
    forget(lender);
    lender->suspended_for_lending = true;
}

/* Indexed by the kernel's priority + 1: the number of guarded threads of this priority, and their
 * shortest runtime, ns. */
static struct {
    int count;
    int64_t least;
} ranks[RT_PRIORITIES + 1];

/* Called when a thread is guarded from now on. The thread may be the unknown lender of an older
 * boost, because it may have waited for a lock already when the attach helper made it real-time. */
static void retry_unknown(const struct guarded *lender)
{
    struct boost *boost;
    const int64_t at = monotonic_now() + lender->window.runtime;
    TAILQ_FOREACH (boost, &unknown, of_unknown)
        if (boost->priority == kernel_priority(lender) && boost->try_at == INT64_MAX) {
            boost->try_at = at;
            boost->tried = 0;
        }
}

static void may_lend(const struct guarded *lender, bool on)
{
    const int rank = kernel_priority(lender) + 1;
    if (on && (ranks[rank].count == 0 || lender->window.runtime < ranks[rank].least))
        ranks[rank].least = lender->window.runtime;
    ranks[rank].count += on ? 1 : -1;
    if (on)
        retry_unknown(lender);
}

/* When to look for the lender of a boost: once the shortest runtime of a possible lender has
 * passed. If the lender can only be a thread about to be made SCHED_DEADLINE, after 4 ms: by then
 * the broker has usually begun to guard the thread, and its lending can be counted. INT64_MAX: no
 * guarded thread can be the lender. */
static int64_t first_try(int priority, int64_t since)
{
    static const int64_t patience = INT64_C(4000000);
    if (priority == -1 && ranks[0].count == 0) {
        promotions_drain();
        return promotions_any() ? since + patience : INT64_MAX;
    }
    return priority < -1 || priority >= RT_PRIORITIES || ranks[priority + 1].count == 0
               ? INT64_MAX
               : since + ranks[priority + 1].least;
}

/* True: the table has room for a new boost. Removes a boost that no guarded thread lends if the
 * table is full. */
static bool has_room(void)
{
    struct boost *boost;
    if (HASH_COUNT(boosts) < BOOSTS_MAX)
        return true;
    TAILQ_FOREACH (boost, &unknown, of_unknown)
        if (boost->try_at == INT64_MAX) {
            end_boost(boost, boost->since);
            return true;
        }
    return false;
}

static void begin_boost(pid_t tid, pid_t caller, int priority, int64_t time)
{
    struct guarded *lender = lender_by(caller, priority);
    struct boost *boost = boost_of(tid);
    if (boost != NULL)
        end_boost(boost, time);
    if (!has_room() || (boost = calloc(1, sizeof *boost)) == NULL) {
        /* The table is full, with a thousand boosts: the lender is suspended at once, because its
         * lending cannot be counted. */
        if (lender != NULL)
            suspend_lender(lender, time);
        return;
    }
    *boost = (struct boost){.tid = tid,
                            .lender = lender,
                            .priority = priority,
                            .since = time,
                            .try_at = first_try(priority, time)};
    HASH_ADD(hh, boosts, tid, sizeof boost->tid, boost);
    if (lender != NULL)
        begin_lending(lender, time);
    else
        TAILQ_INSERT_TAIL(&unknown, boost, of_unknown);
}

/* ---- the kernel's reports ---- */

static void take_priority_change(const struct priority_change *change)
{
    const int before = change->before, after = change->after;
    struct boost *boost = boost_of(change->tid);
    if (boost != NULL && change->time < boost->since)
        /* the report is older than the boost: it was read late, from the ring of another CPU */
        return;
    if (after < RT_PRIORITIES && (after < before || (after < 0 && before < 0)))
        begin_boost(change->tid, change->caller, after, change->time);
    else if (boost != NULL) {
        const struct guarded *guarded = guarded_find(change->tid);
        end_boost(boost, change->time);
        if (after < RT_PRIORITIES && (guarded == NULL || kernel_priority(guarded) != after))
            /* The thread is still boosted: by another guarded thread, or by a thread that is not
             * guarded. */
            begin_boost(change->tid, change->tid, after, change->time);
    }
}

/* After a lost record: when to have the boosts of all threads reported again; INT64_MAX: no record
 * was lost. */
static int64_t resynchronize_at = INT64_MAX;

static bool drain_all(void)
{
    const bool some = inheritance_events_drain(take_priority_change);
    if (inheritance_events_lost())
        resynchronize_at = 0;
    return some;
}

/* ns. The longest time of an attachment: after it the thread is guarded, or is never made
 * real-time. */
static const int64_t expected_within = INT64_C(5000000000);

void lending_expect_promotion(int64_t now)
{
    promotions_drain();
    expect_until = now + expected_within;
}

/* ns. How often a sleeping thread is checked for a boost that the kernel did not report. */
static const int64_t check_interval = INT64_C(1000000000);

/* The time at which the events are read even without a wakeup; lending.h says why PREEMPT_RT needs
 * this. */
static int64_t next_unprompted_read(void)
{
    if (!is_preempt_rt)
        return INT64_MAX;
    if (ranks[0].count > 0)
        return last_unprompted_read + (ranks[0].least < check_interval
                                           ? later(ranks[0].least, read_interval)
                                           : check_interval);
    if (promotions_any() && last_unprompted_read < expect_until)
        return last_unprompted_read + read_interval;
    return guarded_first() != NULL ? last_unprompted_read + check_interval : INT64_MAX;
}

void lending_read_reports(int64_t now)
{
    (void)drain_all();
    if (read_at != INT64_MAX)
        return;
    inheritance_events_listen(false);
    read_at = now + read_interval;
}

static void attribute_boosts(struct guarded *lender)
{
    (void)drain_all();
    resuming = lender;
}

static void forget(const struct guarded *lender)
{
    struct boost *boost, *next;
    (void)drain_all();
    HASH_ITER (hh, boosts, boost, next)
        if (boost->lender == lender)
            end_boost(boost, monotonic_now());
}

/* ---- boosts without a report (PREEMPT_RT) ---- */

/* Called when the thread is in force again. False: a report of the kernel is missing: the thread
 * lent when it was suspended and still sleeps, so it still waits for the lock, but the kernel has
 * reported no boost since. */
static bool boosts_reported(struct guarded *lender)
{
    if (!is_preempt_rt || lender->report_attempts == 0 || lender->boost_count > 0 ||
        !thread_sleeps(lender->tid))
        return true;
    lender->report_attempts--;
    return false;
}

/* Checks one thread that is due. If the thread has not run since the last check and lends nothing
 * as far as is known, has the kernel report its boosts again. False: no thread is due. */
static bool check_one_sleeper(int64_t now)
{
    struct guarded *guarded = guarded_first();
    while (guarded != NULL && now < guarded->check_at)
        guarded = guarded->hh.next;
    if (guarded == NULL)
        return false;
    const int64_t ran = guarded_ran(guarded);
    if (ran == guarded->ran_at_check && guarded->boost_count == 0)
        guarded_renew_boosts(guarded);
    guarded->ran_at_check = ran;
    guarded->check_at = now + check_interval;
    return true;
}

/* Suspending a candidate takes some tens of us, and a hostile user decides how often a boost has an
 * unknown lender. So the number of candidates at a time is bounded, and after them the guard pauses
 * for 20 times as long as they took. */
enum { TRIES_AT_ONCE = 16, PAUSE_PER_TRY = 20 };

static void check_sleepers(int64_t now)
{
    for (int i = 0; i < TRIES_AT_ONCE && check_one_sleeper(now); i++)
        ;
}

/* ---- suspending the lender ---- */

/* True: the thread runs at a higher priority than its own policy gives it. */
static bool is_boosted(pid_t tid)
{
    struct attributes now;
    char path[64], text[512] = "";
    int priority = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)tid);
    FILE *file = fopen(path, "re");
    if (file != NULL && fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    if (file != NULL)
        fclose(file);
    const char *rest = strrchr(text, ')');
    if (rest == NULL ||
        sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %d",
               &priority) != 1 ||
        !thread_attributes(tid, &now))
        return false;
    const int own = now.policy == POLICY_DEADLINE     ? -1 - RT_PRIORITIES
                    : policy_is_real_time(now.policy) ? -1 - now.priority
                                                      : 0;
    return priority < own;
}

static int64_t runtime_left(const struct guarded *lender)
{
    return lender->window.runtime - lender->used_itself - lender->lent;
}

/* Returns when the guard has to look at what the lender has used and lent. The members of a group
 * run while one of them lends, so the runtime is used up earlier than lending alone would use it
 * up. */
static int64_t runtime_over_at(const struct guarded *lender)
{
    const int64_t left = runtime_left(lender);
    return lender->lent_counted_to + (left <= 0               ? 0
                                      : lender->group == NULL ? left
                                                              : left / (lent_at_once(lender) + 1));
}

/* ns. A runtime with less than this left counts as used up, because the rest is not worth another
 * wakeup of the guard. */
static const int64_t little = INT64_C(200000);

/* True: the lender stands for a process, whose common runtime is not used up yet. */
static bool has_runtime_left(struct guarded *lender, int64_t now)
{
    if (lender->group == NULL)
        return false;
    count_lent(lender, now);
    lender->used_itself = guarded_used_in_window(lender, now);
    return runtime_left(lender) > little;
}

/* True if the thread may wait for a lock. A thread that waits for a lock sleeps. A thread that is
 * awake may have used up its own runtime and is then suspended for that, so it is not suspended for
 * lending. But with PREEMPT_RT a waiting thread spins in the kernel (rtmutex_spin_on_owner) while
 * the holder runs, and counts as awake; so awake threads may wait, too. */
static bool may_wait(const struct guarded *guarded)
{
    return is_preempt_rt || guarded->group != NULL || thread_sleeps(guarded->tid);
}

static bool still_lends(const struct guarded *lender)
{
    struct boost *boost, *next;
    bool really = false;
    if (!may_wait(lender))
        return false;
    HASH_ITER (hh, boosts, boost, next)
        if (boost->lender == lender)
            really |= is_boosted(boost->tid);
    return really;
}

static bool is_not_boosted(pid_t tid)
{
    return !is_boosted(tid);
}

static int64_t next_try;

/* ns. If a boost lasts longer than this, awake threads are also tried as its lender, if they may
 * wait (may_wait). Awake threads notice a suspension, so they are not tried for short boosts. */
static const int64_t long_boost = INT64_C(200000000);

/* Suspends the possible lenders one after the other: the boost ends with the suspension of its
 * lender. The other threads are asleep and do not notice their suspension. Returns the lender,
 * which stays suspended; NULL: not found yet. */
static struct guarded *find_lender(struct boost *boost, int64_t now)
{
    const pid_t tid = boost->tid;
    const int priority = boost->priority;
    unsigned place = 0, tries = 0;
    const bool lasts = is_preempt_rt && now >= boost->since + long_boost;
    struct guarded *guarded = guarded_first();
    if (!is_boosted(tid)) {
        end_boost(boost, now);
        return NULL;
    }
    for (; guarded != NULL && tries < TRIES_AT_ONCE; guarded = guarded->hh.next) {
        if ((guarded->state != GUARDED_IN_FORCE && guarded->state != GUARDED_ENDING) ||
            kernel_priority(guarded) != priority || place++ < boost->tried)
            continue;
        tries++;
        const bool found =
            guarded->group != NULL && process_group_try(guarded->group, lasts, is_not_boosted, tid);
        if (!found && !lasts && !thread_sleeps(guarded->tid))
            continue;
        guarded_suspend(guarded, now + guarded->window.period - guarded->window.runtime);
        if (!is_boosted(tid)) {
            guarded->report_attempts = REPORT_ATTEMPTS;
            guarded->suspended_for_lending = true;
            return guarded;
        }
        guarded_undo_suspension(guarded);
        if ((boost = boost_of(tid)) == NULL)
            return NULL;
    }
    if (guarded == NULL && priority == -1) {
        promotions_drain();
        if (promotions_suspend(is_not_boosted, tid) || (boost = boost_of(tid)) == NULL)
            return NULL;
    }
    boost->tried = guarded == NULL ? 0 : boost->tried + tries;
    boost->try_at = guarded != NULL           ? now
                    : is_preempt_rt && !lasts ? boost->since + long_boost
                                              : INT64_MAX;
    return NULL;
}

/* Has the boosts of all threads reported again, because after a lost record any sleeping thread may
 * wait for a lock and lend without a bound. */
static void resynchronize(void)
{
    struct guarded *guarded;
    resynchronize_at = INT64_MAX;
    for (guarded = guarded_first(); guarded != NULL; guarded = guarded->hh.next)
        guarded_renew_boosts(guarded);
}

/* A boost with an unknown lender that is due for a try; NULL: none. */
static struct boost *boost_to_try(int64_t now)
{
    struct boost *boost;
    TAILQ_FOREACH (boost, &unknown, of_unknown)
        if (boost->try_at <= now && now >= next_try)
            return boost;
    return NULL;
}

/* Reads the events when a read is due. If no event has come since the last read, events wake the
 * guard again. */
static void look(int64_t now)
{
    if (now >= next_unprompted_read()) {
        last_unprompted_read = now;
        /* An ENDING thread would otherwise keep this periodic read going for ever. */
        guarded_forget_ended();
        (void)drain_all();
        check_sleepers(now);
    }
    if (now < read_at)
        return;
    read_at = drain_all() ? now + read_interval : INT64_MAX;
    if (read_at != INT64_MAX)
        return;
    inheritance_events_listen(true);
    if (drain_all()) /* events from before the call wake nobody, so they are read here */
        lending_read_reports(now);
}

struct guarded *lending_suspend_due(int64_t now)
{
    struct guarded *lender, *next;
    struct boost *boost;
    look(now);
    for (lender = TAILQ_FIRST(&lenders); lender != NULL; lender = next) {
        next = TAILQ_NEXT(lender, of_lenders);
        if (runtime_over_at(lender) > now || has_runtime_left(lender, now))
            continue;
        if (still_lends(lender)) {
            suspend_lender(lender, now);
            return lender;
        }
        forget(lender);
        /* the list has changed: if another lender is due, lending_next_due gives a time that is
         * past */
        return NULL;
    }
    lender = NULL;
    if (now >= later(resynchronize_at, next_try))
        resynchronize();
    else if ((boost = boost_to_try(now)) != NULL)
        lender = find_lender(boost, now);
    else
        return NULL;
    next_try = monotonic_now() + (monotonic_now() - now) * PAUSE_PER_TRY;
    return lender;
}

int64_t lending_next_due(void)
{
    const struct guarded *lender;
    const struct boost *boost;
    int64_t first = read_at < next_unprompted_read() ? read_at : next_unprompted_read();
    if (later(resynchronize_at, next_try) < first)
        first = later(resynchronize_at, next_try);
    TAILQ_FOREACH (lender, &lenders, of_lenders)
        if (runtime_over_at(lender) < first)
            first = runtime_over_at(lender);
    TAILQ_FOREACH (boost, &unknown, of_unknown)
        if (later(boost->try_at, next_try) < first)
            first = later(boost->try_at, next_try);
    return first;
}

bool lending_wakeup_may_fail(void)
{
    return is_preempt_rt;
}

bool lending_open(const char *tracepoint, int epoll, uint64_t as)
{
    static const struct guarded_events events = {.attribute_boosts = attribute_boosts,
                                                 .may_lend = may_lend,
                                                 .forget = forget,
                                                 .boosts_reported = boosts_reported};
    struct utsname kernel;
    is_preempt_rt = uname(&kernel) == 0 && strstr(kernel.version, "PREEMPT_RT") != NULL;
    guarded_listen(&events);
    return inheritance_events_open(tracepoint, epoll, as);
}
