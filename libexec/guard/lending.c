#include "lending.h"

#include "boost-reports.h"
#include "boosts.h"
#include "clock.h"
#include "inheritance-events.h"
#include "lender-search.h"
#include "lent-ranks.h"
#include "unreported-boosts.h"

/* ns. As long as boosts keep coming, the events are read at this interval, without a wakeup for
 * each. */
static const int64_t read_interval = INT64_C(1000000);

static int64_t read_at = INT64_MAX; /* next read of the events; INT64_MAX: events wake the guard */

static int64_t later(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

void lending_read_reports(int64_t now)
{
    (void)boost_reports_take();
    if (read_at != INT64_MAX)
        return;
    inheritance_events_listen(false);
    read_at = now + read_interval;
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

/* True if the thread may wait for a lock. A thread that waits for a lock sleeps, or is throttled
 * (guarded_is_throttled). A thread that is awake may have used up its own runtime and is then
 * suspended for that, so it is not suspended for lending. But with PREEMPT_RT a waiting thread spins
 * in the kernel (rtmutex_spin_on_owner) while the holder runs, and counts as awake; so awake threads
 * may wait, too. */
static bool may_wait(const struct guarded *guarded)
{
    return inheritance_events_may_fail() || guarded->group != NULL || thread_sleeps(guarded->tid) ||
           guarded_is_throttled(guarded);
}

static bool still_lends(const struct guarded *lender)
{
    const struct boost *boost = may_wait(lender) ? boosts_first() : NULL;
    while (boost != NULL && (boost->lender != lender || !boost_goes_on(boost)))
        boost = boost->hh.next;
    return boost != NULL;
}

static int64_t next_try; /* the next search */

static void suspend_lender(struct guarded *lender, int64_t now)
{
    lender->report_attempts = lender->boost_count > 0 ? REPORT_ATTEMPTS : 0;
    const int64_t end = later(lender->lend_window_began + lender->window.period, now + 1);
    guarded_suspend(lender, window_suspend(&lender->window, now, end));
    boosts_disown_lender(lender);
    lender->suspended_for_lending = true;
}

/* Has the boosts of all threads reported again, because after a lost record any sleeping thread may
 * wait for a lock and lend without a bound. */
static void resynchronize(void)
{
    struct guarded *guarded;
    (void)boost_reports_were_lost(true);
    for (guarded = guarded_first(); guarded != NULL; guarded = guarded->hh.next)
        guarded_renew_boosts(guarded);
    /* Boosts by several threads of one priority: the kernel reports the boost by the first thread
     * that is restored. */
    for (guarded = guarded_first(); guarded != NULL; guarded = guarded->hh.next)
        (void)guarded_lower(guarded, rank_granted(guarded), lender_search_unnoticed(guarded),
                            false);
    for (guarded = guarded_first(); guarded != NULL; guarded = guarded->hh.next) {
        boost_reports_attribute(guarded);
        (void)guarded_raise(guarded);
        boost_reports_attribute(NULL);
    }
}

/* Reads the events when a read is due. If no event has come since the last read, events wake the
 * guard again. */
static void look(int64_t now)
{
    unreported_boosts_look(now);
    if (now < read_at)
        return;
    read_at = boost_reports_take() ? now + read_interval : INT64_MAX;
    if (read_at != INT64_MAX)
        return;
    inheritance_events_listen(true);
    if (boost_reports_take()) /* events from before the call wake nobody, so they are read here */
        lending_read_reports(now);
}

struct guarded *lending_suspend_due(int64_t now)
{
    struct guarded *lender, *next;
    struct boost *boost;
    look(now);
    if ((lender = boost_reports_take_overfull()) != NULL) {
        suspend_lender(lender, now);
        return lender;
    }
    for (lender = boosts_first_lender(); lender != NULL; lender = next) {
        next = TAILQ_NEXT(lender, of_lenders);
        if (runtime_over_at(lender) > now || has_runtime_left(lender, now))
            continue;
        if (still_lends(lender)) {
            suspend_lender(lender, now);
            return lender;
        }
        boosts_disown_lender(lender);
        /* the list has changed: if another lender is due, lending_next_due gives a time that is
         * past */
        return NULL;
    }
    lender = NULL;
    if (now < next_try)
        return NULL;
    if (boost_reports_were_lost(false))
        resynchronize();
    else if ((boost = lender_search_next(now)) != NULL)
        lender = lender_search(boost, now);
    else
        return NULL;
    next_try = lender_search_pause(now);
    return lender;
}

int64_t lending_next_due(void)
{
    const struct guarded *lender;
    const struct boost *boost;
    int64_t first = read_at < unreported_boosts_due() ? read_at : unreported_boosts_due();
    if (boost_reports_overfull())
        return 0;
    if (boost_reports_were_lost(false) && next_try < first)
        first = next_try;
    for (lender = boosts_first_lender(); lender != NULL; lender = TAILQ_NEXT(lender, of_lenders))
        if (runtime_over_at(lender) < first)
            first = runtime_over_at(lender);
    for (boost = boosts_first_unknown(); boost != NULL; boost = TAILQ_NEXT(boost, of_unknown))
        if (later(boost->try_at, next_try) < first)
            first = later(boost->try_at, next_try);
    return first;
}

bool lending_open(const char *tracepoint, int epoll, uint64_t as)
{
    lender_search_open();
    return boost_reports_open(tracepoint, epoll, as, unreported_boosts_none);
}
