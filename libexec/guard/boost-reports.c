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
    struct guarded *holder = guarded_find(tid);
    if (holder != NULL)
        guarded_waited_for(holder);
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

/* The guard looks for the lender of this boosted thread. has_changed: since boost_watch, the kernel has
 * reported a change of this boost. */
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

/* ns. How often the guard looks at a SCHED_DEADLINE holder for which it has no event. */
static const int64_t holder_interval = INT64_C(20000000);

/* The guard has no event that reports an overuse of the SCHED_DEADLINE holder, or that the holder has
 * made itself ordinary. So it looks at the holder again and again. */
static void watch_holder(pid_t tid, int64_t time)
{
    struct boost *boost;
    begin_boost(tid, NULL, -1, time);
    if ((boost = boost_of(tid)) == NULL)
        return;
    boost->try_at = time + holder_interval;
    boost->searches = BOOST_SEARCHED;
}

/* Called when a boost of a SCHED_DEADLINE thread may have ended: the thread may hold a second lock for
 * which another thread waits. */
static void may_end(struct boost *boost, int64_t time)
{
    const struct guarded *holder = boost == NULL ? NULL : guarded_find(boost->tid);
    if (boost == NULL)
        return;
    if (holder == NULL || guarded_is_counted(holder)) {
        boost_end(boost, time);
        return;
    }
    boost_disown(boost, time, time + holder_interval);
    boost->searches = BOOST_SEARCHED;
}

/* True: the report is that `caller` no longer waits for the holder, after a timeout or a signal. A thread
 * waits for one lock at a time, so the second report of the same thread is an end. But `caller` may
 * also be a thread that moves waiting threads to the lock. */
static bool ends_wait(struct guarded *caller, const struct guarded *holder)
{
    const bool waits = caller->waits_for == holder->tid && caller->waits_since == holder->gifts;
    caller->waits_for = waits ? 0 : holder->tid;
    caller->waits_since = holder->gifts;
    return waits;
}

/* The meaning of a report about a SCHED_DEADLINE thread that holds a lock. The kernel's reports do not tell
 * these apart, so the meaning is a guess, which helps to find a lender soon. The CPU time of the
 * holder shows whether a loan goes on (overuse.h). */
enum deadline_change {
    CHANGE_NOTHING, /* a thread waits that is not SCHED_DEADLINE, and so lends nothing to one that is */
    CHANGE_LENT,    /* a thread begins to wait */
    CHANGE_STOPPED, /* the lender of the boost no longer waits */
    CHANGE_GIVEN,   /* the holder has given back a lock, or the guard has suspended a lender */
};

/* True: the thread lends SCHED_DEADLINE when it waits, because another thread lends it this rank. */
static bool lends_deadline(pid_t tid)
{
    const struct boost *boost = boost_of(tid);
    return boost != NULL && boost->priority < 0 && !is_own(tid, -1);
}

static enum deadline_change meaning_of(const struct priority_change *change, struct guarded *holder,
                                       const struct boost *boost)
{
    struct guarded *caller = guarded_find(change->caller);
    if (change->caller == change->tid || (change->caller == own_tid && resuming == NULL))
        return CHANGE_GIVEN;
    if (resuming != NULL || lends_deadline(change->caller))
        return CHANGE_LENT;
    if (caller == NULL || rank_granted(caller) >= 0)
        return CHANGE_NOTHING;
    if (!ends_wait(caller, holder))
        return CHANGE_LENT;
    return boost != NULL && boost->lender == caller ? CHANGE_STOPPED : CHANGE_NOTHING;
}

static void take_deadline_change(const struct priority_change *change, struct guarded *holder,
                                 struct boost *boost)
{
    const enum deadline_change meaning = meaning_of(change, holder, boost);
    guarded_holds(holder, change->time);
    holder->gifts += change->caller == change->tid;
    if (meaning == CHANGE_LENT)
        begin_boost(change->tid, lender_by(change->caller, -1), -1, change->time);
    else if (meaning != CHANGE_NOTHING)
        may_end(boost, change->time);
    else if (boost == NULL && !guarded_is_counted(holder))
        watch_holder(change->tid, change->time);
}

/* Called when a SCHED_DEADLINE thread is guarded from now on. It may have held a lock before: then the
 * reports about it were taken as those about an ordinary thread. A FIFO thread that waits lends
 * nothing now, but may lend again, without a report, when the holder makes itself ordinary. */
static void begin_holder(struct guarded *holder)
{
    struct boost *boost = boost_of(holder->tid);
    const int64_t now = monotonic_now();
    if (boost == NULL || rank_granted(holder) >= 0)
        return;
    guarded_holds(holder, now);
    if (boost->priority < 0)
        may_end(boost, now);
    else
        watch_holder(holder->tid, now);
}

static void may_lend(struct guarded *lender, bool on)
{
    ranks_note(lender, on);
    if (!on)
        return;
    retry_unknown(lender);
    begin_holder(lender);
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
    if (before < 0 && after < 0 && is_own(change->tid, after))
        take_deadline_change(change, guarded_find(change->tid), boost);
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
        if (is_own(boost->tid, boost->priority) && boost->priority < 0)
            may_end(boost, now);
        else if (boost_goes_on(boost))
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

void boost_reports_overuse(struct guarded *holder, int64_t now)
{
    (void)boost_reports_take();
    struct boost *boost = boost_of(holder->tid);
    const int64_t lent = boost != NULL && boost->lender != NULL ? now - boost->since : 0;
    const int64_t over = guarded_overuse(holder, now, lent);
    if (!thread_is_deadline(holder->tid)) {
        /* The thread has made itself ordinary, and its own CPU time is no loan. */
        boost_reports_look_at(holder->tid);
        return;
    }
    if (over == 0 || holder->state != GUARDED_IN_FORCE)
        return;
    if (boost == NULL)
        begin_boost(holder->tid, NULL, -1, now);
    else
        boost_disown(boost, now, now);
    if ((boost = boost_of(holder->tid)) == NULL)
        return;
    boost->over += over;
    boost->try_at = now;
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
