#include "lending.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "boosts.h"
#include "clock.h"
#include "inheritance-events.h"
#include "lent-ranks.h"
#include "promotions.h"
#include "tick.h"

/* ns. As long as boosts keep coming, the events are read at this interval, without a wakeup for
 * each. */
static const int64_t read_interval = INT64_C(1000000);

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

/* ---- who lends ---- */

/* Returns the guarded process (all its threads share one runtime) of which the thread is a member;
 * NULL: none. Skips processes that were granted another priority, which saves reading the thread's
 * group from /proc. */
static struct guarded *process_of(pid_t tid, int priority)
{
    struct guarded *guarded = guarded_first();
    while (guarded != NULL &&
           (guarded->group == NULL || rank_granted(guarded) != priority ||
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

/* The guard resumes a lender at most this often to have the kernel report the lender's boosts. */
enum { REPORT_ATTEMPTS = 5 };

static void disown(const struct guarded *lender);

static void suspend_lender(struct guarded *lender, int64_t now)
{
    lender->report_attempts = lender->boost_count > 0 ? REPORT_ATTEMPTS : 0;
    const int64_t end = later(lender->lend_window_began + lender->window.period, now + 1);
    guarded_suspend(lender, window_suspend(&lender->window, now, end));
    disown(lender);
    lender->suspended_for_lending = true;
}

/* Called when a thread is guarded from now on. The thread may be the unknown lender of an older
 * boost, because it may have waited for a lock already when the attach helper made it real-time. */
static void retry_unknown(const struct guarded *lender)
{
    struct boost *boost;
    const int64_t at = monotonic_now() + lender->window.runtime;
    for (boost = boosts_first_unknown(); boost != NULL; boost = TAILQ_NEXT(boost, of_unknown))
        if (boost->priority >= rank_granted(lender) && boost->try_at == INT64_MAX) {
            boost->try_at = at;
            boost->rounds = 0;
        }
}

static void may_lend(const struct guarded *lender, bool on)
{
    ranks_note(lender, on);
    if (on)
        retry_unknown(lender);
}

/* Returns when to look for the unknown lender of a boost: after the shortest runtime of a possible
 * lender, less the time of earlier boosts whose lender was not found. If only a thread that is
 * about to become SCHED_DEADLINE can be the lender, the guard looks after 4 ms. By then the broker
 * has usually had this thread guarded, so the guard counts what this thread lends. INT64_MAX: no
 * guarded thread can be the lender. */
static int64_t first_try(int priority, int64_t since)
{
    static const int64_t patience = INT64_C(4000000);
    const int64_t shortest = rank_shortest_runtime(priority);
    if (shortest != 0)
        return since + later(shortest - rank_unknown_time(priority, since), 0);
    if (priority != -1)
        return INT64_MAX;
    promotions_drain();
    return promotions_any() ? since + patience : INT64_MAX;
}

/* After a lost report: when to have the boosts of all threads reported again; INT64_MAX: no report
 * was lost. */
static int64_t resynchronize_at = INT64_MAX;
static bool some_lend_too_often; /* a guarded thread has lends_too_often */

/* This function runs while reports are read. So it only notes that a lender has to be suspended:
 * a suspension causes reports. */
static void begin_boost(pid_t tid, struct guarded *lender, int priority, int64_t time)
{
    const bool begun = boost_begin(tid, lender, priority, time, first_try(priority, time));
    if (boosts_evicted())
        resynchronize_at = 0;
    if (begun)
        return;
    /* The table is full, with a thousand boosts. The lender is suspended soon, because its lending
     * cannot be counted. If the lender is unknown, the kernel has to report the boost again. */
    if (lender == NULL)
        resynchronize_at = 0;
    else
        some_lend_too_often = lender->lends_too_often = true;
}

/* ---- the kernel's reports ---- */

/* The boosted thread whose lender the guard looks for, and whether the kernel has reported a change
 * of this boost meanwhile. */
static struct {
    pid_t tid;
    bool has_changed;
} watched;

static pid_t own_tid; /* after lending_open the guard may not call getpid(2) */

static void watch(pid_t tid)
{
    watched.tid = tid;
    watched.has_changed = false;
}

/* True: the thread has this priority without any boost. */
static bool is_own(pid_t tid, int priority)
{
    const struct guarded *guarded = guarded_find(tid);
    return guarded != NULL && guarded->state == GUARDED_IN_FORCE &&
           rank_granted(guarded) == priority;
}

static void take_priority_change(const struct priority_change *change)
{
    const int before = change->before, after = change->after;
    const bool by_itself = change->caller == change->tid;
    struct boost *boost = boost_of(change->tid);
    /* Changes that other threads cause show nothing about the thread that the guard suspends. */
    watched.has_changed |= change->tid == watched.tid && change->caller == own_tid;
    if (boost != NULL && change->time < boost->since)
        /* the report is older than the boost: it was read late, from the ring of another CPU */
        return;
    if (after < RT_PRIORITIES && (after < before || (after < 0 && before < 0 && !by_itself)))
        begin_boost(change->tid, by_itself ? NULL : lender_by(change->caller, after), after,
                    change->time);
    else if (boost != NULL) {
        boost_end(boost, change->time);
        if (after < RT_PRIORITIES && !is_own(change->tid, after))
            /* The thread is still boosted: by another guarded thread, or by a thread that is not
             * guarded. */
            begin_boost(change->tid, NULL, after, change->time);
    }
}

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
    const int64_t shortest = rank_shortest_runtime(-1);
    if (shortest > 0)
        return last_unprompted_read +
               (shortest < check_interval ? later(shortest, read_interval) : check_interval);
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

static bool is_deadline(pid_t tid)
{
    struct attributes now;
    return thread_attributes(tid, &now) && now.policy == POLICY_DEADLINE;
}

/* True: the boost goes on. Nothing in /proc shows whether a SCHED_DEADLINE thread is boosted, so a
 * boost of such a thread counts as going on until the kernel reports its end. */
static bool goes_on(const struct boost *boost)
{
    return rank_is_boosted(boost->tid) || (boost->priority < 0 && is_deadline(boost->tid));
}

/* Called when `lender` has been suspended or is about to be removed. A boost that still goes on
 * comes from another thread: the kernel's report named not the waiting thread, but the thread that
 * moved the waiting thread to the lock (FUTEX_CMP_REQUEUE_PI). */
static void disown(const struct guarded *lender)
{
    struct boost *boost, *next;
    const int64_t now = monotonic_now();
    (void)drain_all();
    for (boost = boosts_first(); boost != NULL; boost = next) {
        next = boost->hh.next;
        if (boost->lender != lender)
            continue;
        if (goes_on(boost))
            boost_disown(boost, now, first_try(boost->priority, now));
        else
            boost_end(boost, now);
    }
}

/* Begins a boost of an unknown lender if the thread is boosted. A member of a group may be real-time
 * by itself, because it has a SCHED_DEADLINE reservation of its own. */
static void look_at_rank(pid_t tid, int64_t now)
{
    const int priority = rank_in_force(tid);
    if (priority < RT_PRIORITIES && rank_is_boosted(tid))
        begin_boost(tid, NULL, priority, now);
}

/* True: the thread runs at another rank than the boost has. A SCHED_DEADLINE thread that has made
 * itself ordinary may be boosted by a FIFO thread. */
static bool has_other_rank(const struct boost *boost)
{
    return !is_deadline(boost->tid) && rank_in_force(boost->tid) != boost->priority;
}

/* Called when a thread has been made ordinary. If another thread waits for a lock of this thread,
 * the waiting thread lends its rank from now on. The kernel reports neither this boost, nor the
 * beginning of a wait for a FIFO or RR thread of the same or a higher rank (rt_mutex_setprio in
 * kernel/sched/core.c). So the guard looks at the thread itself. */
static void made_ordinary(pid_t tid)
{
    /* Taken first: a report that comes while the guard looks is newer than this time, and counts
     * (take_priority_change). */
    const int64_t now = monotonic_now();
    (void)drain_all();
    struct boost *boost = boost_of(tid);
    if (boost != NULL && !has_other_rank(boost))
        return;
    if (boost != NULL)
        boost_end(boost, now);
    look_at_rank(tid, now);
}

void lending_look_at(pid_t tid)
{
    if (rank_is_boosted(tid))
        made_ordinary(tid);
}

/* ---- boosts without a report (PREEMPT_RT) ---- */

/* Called when a suspended thread runs as granted again. False: a report of the kernel is missing.
 * The thread lent its rank when it was suspended, and still sleeps, so it still waits for the lock;
 * but the kernel has reported no boost since. */
static bool boosts_reported(struct guarded *lender)
{
    if (!is_preempt_rt || lender->report_attempts == 0 || lender->boost_count > 0 ||
        !thread_sleeps(lender->tid))
        return true;
    lender->report_attempts--;
    return false;
}

/* Checks one thread that is due. If the thread has not run since the last check and lends nothing
 * as far as is known, the function has the kernel report the boosts by this thread again. False: no
 * thread is due. */
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
 * unknown lender. So the guard tries a bounded number of candidates at a time, and then pauses for
 * 20 times as long as this took. */
enum { TRIES_AT_ONCE = 16, PAUSE_PER_TRY = 20 };

static void check_sleepers(int64_t now)
{
    for (int i = 0; i < TRIES_AT_ONCE && check_one_sleeper(now); i++)
        ;
}

/* ---- suspending the lender ---- */

static int64_t runtime_left(const struct guarded *lender)
{
    return lender->window.runtime - lender->used_itself - lender->lent;
}

/* Returns when the guard has to look at what the lender has used and lent. The members of a group
 * run while one of them lends, so they use up the common runtime earlier than lending alone
 * would. */
static int64_t runtime_over_at(const struct guarded *lender)
{
    const int64_t left = runtime_left(lender);
    return lender->lent_counted_to + (left <= 0 ? 0
                                      : lender->group == NULL
                                          ? left
                                          : left / (lending_at_once(lender) + 1));
}

/* ns. A runtime with less than this left counts as used up, because the rest is not worth another
 * wakeup of the guard. */
static const int64_t little = INT64_C(200000);

/* True: the lender is guarded together with all threads of its process, and their common runtime is
 * not used up yet. */
static bool has_runtime_left(struct guarded *lender, int64_t now)
{
    if (lender->group == NULL)
        return false;
    lending_count(lender, now);
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
    const struct boost *boost = may_wait(lender) ? boosts_first() : NULL;
    while (boost != NULL && (boost->lender != lender || !goes_on(boost)))
        boost = boost->hh.next;
    return boost != NULL;
}

/* True: the boost of the thread has ended because the guard has suspended a thread. The boost may
 * also end by itself at this moment, so a report that names the guard has to come, too. With
 * PREEMPT_RT this report may be missing. If the boosted thread is SCHED_DEADLINE, only the report
 * shows the end. */
static bool has_ended(pid_t tid)
{
    (void)drain_all();
    return !rank_is_boosted(tid) && (watched.has_changed || (is_preempt_rt && !is_deadline(tid)));
}

static int64_t next_try;

/* ns. With PREEMPT_RT, if a boost lasts longer than this, awake threads are also tried as its
 * lender, because they may wait (may_wait). Awake threads notice a suspension, so they are not tried
 * for short boosts. */
static const int64_t long_boost = INT64_C(200000000);

static bool lasts_long(const struct boost *boost, int64_t now)
{
    return is_preempt_rt && now >= boost->since + long_boost;
}

static int64_t tick; /* the distance between two interrupts of the kernel's clock, ns */

/* Returns how long an awake thread has not run if it cannot be running now, ns. The kernel counts the
 * CPU time of a running thread at ticks. A SCHED_DEADLINE thread may be throttled until its next
 * period, and is made ordinary for longer than a moment then. */
static int64_t still_for(const struct guarded *guarded)
{
    const int64_t late = INT64_C(20000000);
    return guarded->granted.policy == POLICY_DEADLINE ? guarded->window.period + late : 2 * tick;
}

/* True: the thread has not run for some time. */
static bool is_still(struct guarded *guarded)
{
    const int64_t ran = guarded_ran(guarded), now = monotonic_now();
    if (ran >= 0 && ran == guarded->ran_at_search)
        return now - guarded->still_since >= still_for(guarded);
    guarded->ran_at_search = ran;
    guarded->still_since = now;
    return false;
}

/* True: the thread does not notice a suspension for a moment, because it sleeps, or is awake and does
 * not run. An awake thread may lend: a waiting thread that a signal or a timeout has woken is in the
 * queue of the lock until it runs, and it may be unable to run because the boosted thread has the
 * CPU. */
static bool does_not_notice(struct guarded *guarded)
{
    if (thread_sleeps(guarded->tid))
        return true;
    const enum guarded_run run = guarded_run(guarded);
    return run == GUARDED_RUN_UNKNOWN ? is_still(guarded) : run == GUARDED_RUNS_NOT;
}

/* How many searches for the lender of a FIFO or RR boost have found none, each within a second of the
 * one before. A boost may end and begin again before its second search. */
static unsigned fruitless;
static int64_t fruitless_until;
static const int64_t fruitless_for = INT64_C(1000000000); /* ns */

/* Until this time the guard looks for several lenders at once from the first search on, because it
 * has found some lately. */
static int64_t expect_joint_until;

/* True: the guard looks for several lenders at once, and tries awake members of groups. */
static bool looks_for_many(const struct boost *boost, int64_t now)
{
    return boost->searches > 0 ||
           (boost->priority >= 0 &&
            ((fruitless > 1 && now < fruitless_until) || now < expect_joint_until));
}

/* The thread was found as a lender, and stays suspended. */
static void note_lender(struct guarded *guarded)
{
    guarded->report_attempts = REPORT_ATTEMPTS;
    guarded->suspended_for_lending = true;
}

/* True: the thread lent the boost, and is suspended now. From the second search on, awake members of
 * a group are tried, too. */
static bool suspend_if_lender(struct guarded *guarded, const struct boost *boost, int64_t now)
{
    const pid_t tid = boost->tid;
    const bool lasts = lasts_long(boost, now);
    watch(tid);
    const bool found = guarded->group != NULL &&
                       process_group_try(guarded->group, boost->priority,
                                         lasts || looks_for_many(boost, now), has_ended, tid);
    if (!found && !lasts && !does_not_notice(guarded))
        return false;
    guarded_suspend(guarded, now + guarded->window.period - guarded->window.runtime);
    if (has_ended(tid)) {
        note_lender(guarded);
        return true;
    }
    guarded_undo_suspension(guarded);
    return false;
}

static bool is_candidate(const struct guarded *guarded, pid_t tid, int priority)
{
    return guarded->tid != tid &&
           (guarded->state == GUARDED_IN_FORCE || guarded->state == GUARDED_ENDING) &&
           rank_may_be_lent(guarded, priority);
}

/* search_at: the place in the list of guarded threads where the search goes on, also the search for
 * the lender of another boost. Boosts may be too short for a search that always begins with the
 * first thread. last_found: the lender that was found last, which each search tries first. */
static unsigned search_at;
static pid_t last_found;

/* Returns when the guard searches again; INT64_MAX: no guarded thread can be the lender. The second
 * search finds lenders that lend together. At the third search the guard knows that an awake thread
 * without an event has not run (is_still). Later searches find a lender that ran during an earlier
 * search. A SCHED_DEADLINE thread whose boost goes on may make itself ordinary at any time. Then it
 * has the rank of a thread that waits for it, and the kernel reports nothing. */
static int64_t next_search(const struct boost *boost, int64_t now)
{
    enum { OFTEN = 10 };
    static const int64_t first = INT64_C(4000000), of_deadline = INT64_C(20000000),
                         others = INT64_C(100000000), seldom = INT64_C(1000000000);
    if (first_try(boost->priority, now) == INT64_MAX)
        return INT64_MAX;
    if (boost->searches < 2)
        return now + (boost->searches == 0 ? first : 2 * tick);
    if (is_deadline(boost->tid))
        return now + of_deadline;
    return now + (boost->searches < OFTEN ? others : seldom);
}

/* The search has tried all threads from search_at to the end of the list. Sets when to try
 * again. */
static void search_again(struct boost *boost, int64_t now)
{
    search_at = 0;
    if (boost->rounds > 1)
        boost->try_at = now;
    else {
        boost_to_tail(boost);
        boost->try_at = next_search(boost, now);
        boost->searches++;
        if (boost->priority >= 0) {
            fruitless = now < fruitless_until ? fruitless + 1 : 1;
            fruitless_until = now + fruitless_for;
        }
        rank_forget_unknown(boost->priority);
    }
    boost->rounds -= boost->rounds > 0 ? 1 : 0;
}

/* Tries the next possible lenders of the thread's boost. Returns the lender; NULL: none of these
 * threads is the lender. *all: whether the last guarded thread was tried. */
static struct guarded *try_next(pid_t tid, int priority, int64_t now, bool *all)
{
    unsigned place = 0, tries = 0;
    const struct boost *boost = boost_of(tid);
    struct guarded *guarded = guarded_first();
    for (; guarded != NULL && tries < TRIES_AT_ONCE && boost != NULL; guarded = guarded->hh.next) {
        if (place++ < search_at || !is_candidate(guarded, tid, priority))
            continue;
        tries++;
        if (suspend_if_lender(guarded, boost, now)) {
            last_found = guarded->tid;
            return guarded;
        }
        boost = boost_of(tid);
    }
    search_at = place > search_at ? place : search_at;
    *all = guarded == NULL;
    return NULL;
}

/* Several threads of one FIFO or RR priority may lend it to one thread. Then no suspension of a
 * single thread ends the boost. Lowers all possible lenders by one priority, one after the other,
 * until the boosted thread runs at the lower priority. Then restores the priorities one after the
 * other, and suspends each thread whose restoration boosts the thread again. Does not make all
 * possible lenders ordinary at once, because most of them are threads of other users, and may wake
 * meanwhile. Returns one of the lenders; NULL: none of the threads lends. */
static struct guarded *find_joint_lenders(const struct boost *boost, int64_t now)
{
    static const int64_t joint_again = INT64_C(1000000000);
    const pid_t tid = boost->tid;
    const int priority = boost->priority;
    const bool lasts = lasts_long(boost, now);
    struct guarded *guarded, *found = NULL;
    bool is_lower = false;
    for (guarded = guarded_first(); guarded != NULL && !is_lower; guarded = guarded->hh.next)
        is_lower = is_candidate(guarded, tid, priority) &&
                   guarded_lower(guarded, priority, lasts || does_not_notice(guarded), true) &&
                   rank_in_force(tid) > priority;
    for (guarded = guarded_first(); guarded != NULL; guarded = guarded->hh.next) {
        attribute_boosts(guarded);
        const bool raised = guarded_raise(guarded);
        attribute_boosts(NULL);
        if (!raised || !is_lower || rank_in_force(tid) > priority)
            continue;
        guarded_suspend(guarded, now + guarded->window.period - guarded->window.runtime);
        is_lower = rank_in_force(tid) > priority;
        if (!is_lower) {
            /* meanwhile another thread lends its rank */
            guarded_undo_suspension(guarded);
            continue;
        }
        note_lender(guarded);
        found = guarded;
    }
    (void)drain_all();
    if (found != NULL)
        expect_joint_until = now + joint_again;
    return found;
}

static bool was_lent_by_last(const struct boost *boost, int64_t now)
{
    struct guarded *last = guarded_find(last_found);
    return last != NULL && is_candidate(last, boost->tid, boost->priority) &&
           suspend_if_lender(last, boost, now);
}

/* True: the boosted thread is SCHED_DEADLINE by itself, and two searches have found no lender. The
 * guard only looks whether the thread has become ordinary (has_other_rank), and searches again each
 * fiftieth time, because a search disturbs sleeping SCHED_DEADLINE threads. */
static bool is_only_watched(const struct boost *boost)
{
    enum { SEARCH_EACH = 50 };
    return boost->priority < 0 && is_deadline(boost->tid) && boost->searches > 1 &&
           boost->searches % SEARCH_EACH != 0;
}

/* Suspends the possible lenders one after the other: the boost ends with the suspension of its
 * lender. The other threads do not notice their suspension (does_not_notice). Returns the lender,
 * which stays suspended; NULL: not found yet. */
static struct guarded *find_lender(struct boost *boost, int64_t now)
{
    const pid_t tid = boost->tid;
    const int priority = boost->priority;
    bool all = false;
    if (!goes_on(boost)) {
        /* If the thread has this rank by itself now, the boost lasted until then, and its time
         * counts. */
        boost_end(boost, rank_in_force(tid) < RT_PRIORITIES ? now : boost->since);
        return NULL;
    }
    if (has_other_rank(boost)) {
        boost_end(boost, now);
        look_at_rank(tid, now);
        return NULL;
    }
    if (is_only_watched(boost)) {
        boost_to_tail(boost);
        boost->try_at = next_search(boost, now);
        boost->searches++;
        return NULL;
    }
    if (boost->rounds == 0)
        boost->rounds = search_at == 0 ? 1 : 2;
    if (was_lent_by_last(boost, now))
        return guarded_find(last_found);
    struct guarded *lender = try_next(tid, priority, now, &all);
    if (lender == NULL && all && priority == -1) {
        promotions_drain();
        watch(tid);
        if (promotions_suspend(has_ended, tid))
            return NULL;
    }
    boost = lender == NULL ? boost_of(tid) : NULL;
    if (boost != NULL && all && priority >= 0 && boost->priority == priority &&
        looks_for_many(boost, now)) {
        lender = find_joint_lenders(boost, now);
        boost = lender == NULL ? boost_of(tid) : NULL;
    }
    if (boost != NULL && all)
        search_again(boost, now);
    else if (boost != NULL)
        boost->try_at = now;
    return lender;
}

/* Has the boosts of all threads reported again, because after a lost record any sleeping thread may
 * wait for a lock and lend without a bound. */
static void resynchronize(void)
{
    struct guarded *guarded;
    resynchronize_at = INT64_MAX;
    for (guarded = guarded_first(); guarded != NULL; guarded = guarded->hh.next)
        guarded_renew_boosts(guarded);
    /* Boosts by several threads of one priority: the kernel reports the boost by the first thread
     * that is restored. */
    for (guarded = guarded_first(); guarded != NULL; guarded = guarded->hh.next)
        (void)guarded_lower(guarded, rank_granted(guarded), does_not_notice(guarded), false);
    for (guarded = guarded_first(); guarded != NULL; guarded = guarded->hh.next) {
        attribute_boosts(guarded);
        (void)guarded_raise(guarded);
        attribute_boosts(NULL);
    }
}

/* Suspends a thread that lends to more threads than the table of boosts has room for; NULL: there is
 * no such thread. */
static struct guarded *suspend_overfull(int64_t now)
{
    struct guarded *guarded = some_lend_too_often ? guarded_first() : NULL;
    while (guarded != NULL && !guarded->lends_too_often)
        guarded = guarded->hh.next;
    some_lend_too_often = guarded != NULL;
    if (guarded == NULL)
        return NULL;
    guarded->lends_too_often = false;
    suspend_lender(guarded, now);
    return guarded;
}

/* A boost with an unknown lender that is due for a try; NULL: none. */
static struct boost *boost_to_try(int64_t now)
{
    struct boost *boost;
    for (boost = boosts_first_unknown(); boost != NULL; boost = TAILQ_NEXT(boost, of_unknown))
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
    if ((lender = suspend_overfull(now)) != NULL)
        return lender;
    for (lender = boosts_first_lender(); lender != NULL; lender = next) {
        next = TAILQ_NEXT(lender, of_lenders);
        if (runtime_over_at(lender) > now || has_runtime_left(lender, now))
            continue;
        if (still_lends(lender)) {
            suspend_lender(lender, now);
            return lender;
        }
        disown(lender);
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
    if (some_lend_too_often)
        return 0;
    if (later(resynchronize_at, next_try) < first)
        first = later(resynchronize_at, next_try);
    for (lender = boosts_first_lender(); lender != NULL; lender = TAILQ_NEXT(lender, of_lenders))
        if (runtime_over_at(lender) < first)
            first = runtime_over_at(lender);
    for (boost = boosts_first_unknown(); boost != NULL; boost = TAILQ_NEXT(boost, of_unknown))
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
                                                 .forget = disown,
                                                 .made_ordinary = made_ordinary,
                                                 .boosts_reported = boosts_reported};
    struct utsname kernel;
    tick = (int64_t)tick_length() * 1000;
    own_tid = getpid();
    is_preempt_rt = uname(&kernel) == 0 && strstr(kernel.version, "PREEMPT_RT") != NULL;
    guarded_listen(&events);
    return inheritance_events_open(tracepoint, epoll, as);
}
