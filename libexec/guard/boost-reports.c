#include "boost-reports.h"

#include <unistd.h>

#include "boosts.h"
#include "clock.h"
#include "inheritance-events.h"
#include "lent-ranks.h"
#include "promotions.h"

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
int64_t boost_first_try(int priority, int64_t since)
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

static bool were_lost; /* a report was lost since the last boost_reports_were_lost(true) */
static bool some_lend_too_often; /* a guarded thread has lends_too_often */

/* This function runs while reports are read. So it only notes that a lender has to be suspended:
 * a suspension causes reports. */
static void begin_boost(pid_t tid, struct guarded *lender, int priority, int64_t time)
{
    const bool begun = boost_begin(tid, lender, priority, time, boost_first_try(priority, time));
    if (boosts_evicted())
        were_lost = true;
    if (begun)
        return;
    /* The table is full, with a thousand boosts. The lender is suspended soon, because its lending
     * cannot be counted. If the lender is unknown, the kernel has to report the boost again. */
    if (lender == NULL)
        were_lost = true;
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

static pid_t own_tid; /* after boost_reports_open the guard may not call getpid(2) */

void boost_watch(pid_t tid)
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

/* True: the report may be that a SCHED_DEADLINE thread no longer waits for a SCHED_DEADLINE holder,
 * after a timeout or a signal. The kernel reports the beginning and the end of such a wait in the same
 * words. A thread waits for one lock at a time, so a second report of the same thread is an end. But the
 * thread may also be one that moves waiting threads to the lock; then the boost goes on. */
static bool may_end_wait(const struct boost *boost, const struct priority_change *change)
{
    return boost != NULL && boost->lender != NULL && boost->lender->tid == change->caller &&
           change->before < 0 && change->after < 0;
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
    if (may_end_wait(boost, change))
        boost_disown(boost, change->time, boost_first_try(after, change->time));
    else if (after < RT_PRIORITIES && (after < before || (after < 0 && before < 0 && !by_itself)))
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

bool boost_reports_take(void)
{
    const bool some = inheritance_events_drain(take_priority_change);
    if (inheritance_events_lost())
        were_lost = true;
    return some;
}

void boost_reports_attribute(struct guarded *lender)
{
    (void)boost_reports_take();
    resuming = lender;
}

bool thread_is_deadline(pid_t tid)
{
    struct attributes now;
    return thread_attributes(tid, &now) && now.policy == POLICY_DEADLINE;
}

/* True: the boost goes on. Nothing in /proc shows whether a SCHED_DEADLINE thread is boosted, so a
 * boost of such a thread counts as going on until the kernel reports its end. */
bool boost_goes_on(const struct boost *boost)
{
    return rank_is_boosted(boost->tid) || (boost->priority < 0 && thread_is_deadline(boost->tid));
}

/* Called when `lender` has been suspended or is about to be removed. A boost that still goes on
 * comes from another thread: the kernel's report named not the waiting thread, but the thread that
 * moved the waiting thread to the lock (FUTEX_CMP_REQUEUE_PI). */
void boosts_disown_lender(const struct guarded *lender)
{
    struct boost *boost, *next;
    const int64_t now = monotonic_now();
    (void)boost_reports_take();
    for (boost = boosts_first(); boost != NULL; boost = next) {
        next = boost->hh.next;
        if (boost->lender != lender)
            continue;
        if (boost_goes_on(boost))
            boost_disown(boost, now, boost_first_try(boost->priority, now));
        else
            boost_end(boost, now);
    }
}

/* Begins a boost of an unknown lender if the thread is boosted. A member of a group may be real-time
 * by itself, because it has a SCHED_DEADLINE reservation of its own. */
void boost_look_at(pid_t tid, int64_t now)
{
    const int priority = rank_in_force(tid);
    if (priority < RT_PRIORITIES && rank_is_boosted(tid))
        begin_boost(tid, NULL, priority, now);
}

/* True: the thread runs at another rank than the boost has. A SCHED_DEADLINE thread that has made
 * itself ordinary may be boosted by a FIFO thread. */
bool boost_has_other_rank(const struct boost *boost)
{
    return !thread_is_deadline(boost->tid) && rank_in_force(boost->tid) != boost->priority;
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
    (void)boost_reports_take();
    struct boost *boost = boost_of(tid);
    if (boost != NULL && !boost_has_other_rank(boost))
        return;
    if (boost != NULL)
        boost_end(boost, now);
    boost_look_at(tid, now);
}

void boost_reports_look_at(pid_t tid)
{
    if (rank_is_boosted(tid))
        made_ordinary(tid);
}

/* True: the boost of the thread has ended because the guard has suspended a thread. The boost may
 * also end by itself at this moment, so a report that names the guard has to come, too. With
 * PREEMPT_RT this report may be missing. If the boosted thread is SCHED_DEADLINE, only the report
 * shows the end. */
bool boost_was_ended(pid_t tid)
{
    (void)boost_reports_take();
    return !rank_is_boosted(tid) &&
           (watched.has_changed || (inheritance_events_may_fail() && !thread_is_deadline(tid)));
}

bool boost_reports_were_lost(bool forget)
{
    const bool lost = were_lost;
    were_lost = lost && !forget;
    return lost;
}

bool boost_reports_overfull(void)
{
    return some_lend_too_often;
}

struct guarded *boost_reports_take_overfull(void)
{
    struct guarded *guarded = some_lend_too_often ? guarded_first() : NULL;
    while (guarded != NULL && !guarded->lends_too_often)
        guarded = guarded->hh.next;
    some_lend_too_often = guarded != NULL;
    if (guarded != NULL)
        guarded->lends_too_often = false;
    return guarded;
}

bool boost_reports_open(const char *tracepoint, int epoll, uint64_t as,
                        bool (*boosts_reported)(struct guarded *lender))
{
    static struct guarded_events events = {.attribute_boosts = boost_reports_attribute,
                                           .may_lend = may_lend,
                                           .forget = boosts_disown_lender,
                                           .made_ordinary = made_ordinary};
    events.boosts_reported = boosts_reported;
    own_tid = getpid();
    guarded_listen(&events);
    return inheritance_events_open(tracepoint, epoll, as);
}
