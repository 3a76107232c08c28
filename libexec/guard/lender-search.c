#include "lender-search.h"

#include "boost-reports.h"
#include "boosts.h"
#include "clock.h"
#include "inheritance-events.h"
#include "lent-ranks.h"
#include "promotions.h"
#include "tick.h"

/* ns. With PREEMPT_RT, if a boost lasts longer than this, awake threads are also tried as its
 * lender, because they may wait (may_wait in lending.c). Awake threads notice a suspension, so they are not tried
 * for short boosts. */
static const int64_t long_boost = INT64_C(200000000);

static bool lasts_long(const struct boost *boost, int64_t now)
{
    return inheritance_events_may_fail() && now >= boost->since + long_boost;
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
bool lender_search_unnoticed(struct guarded *guarded)
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

/* Returns until when the lender of the boost is suspended: until its next period, or until its
 * runtimes have paid for what the boosted thread has had beyond its grant. */
static int64_t suspension_end(const struct guarded *lender, const struct boost *boost, int64_t now)
{
    const struct window *window = &lender->window;
    const int64_t runtimes = (boost->over + window->runtime - 1) / window->runtime;
    return now + window->period - window->runtime + runtimes * window->period;
}

static bool have_one_owner(pid_t one, pid_t other)
{
    struct identity first, second;
    return thread_owner_of(one, &first) && thread_owner_of(other, &second) &&
           first.real_uid == second.real_uid;
}

/* True: from the second search on, the throttled thread is tried, too, if it belongs to the owner of
 * the boosted thread. A suspension of a throttled thread lasts for more than a period, because the
 * thread has no runtime left. So throttled threads of other users are not tried. */
static bool is_tried_throttled(const struct guarded *guarded, const struct boost *boost)
{
    return boost->searches > 0 && !thread_sleeps(guarded->tid) && guarded_is_throttled(guarded) &&
           have_one_owner(guarded->tid, boost->tid);
}

/* The search among the members of groups. A user can start hundreds of members, and each takes the
 * guard as long as another thread. So this search has a pause of its own, which keeps the guard from
 * no other search. */
static struct {
    int64_t took;  /* by the present search, ns */
    int64_t from;  /* the groups are tried from this time on */
    bool left_out; /* the present search has left out a group */
} groups;

enum { PAUSE_PER_SEARCH = 20 };

int64_t lender_search_pause(int64_t began)
{
    const int64_t now = monotonic_now(), of_threads = now - began - groups.took;
    if (groups.took > 0)
        groups.from = now + groups.took * PAUSE_PER_SEARCH;
    groups.took = 0;
    return now + of_threads * PAUSE_PER_SEARCH;
}

static bool is_left_out(const struct guarded *guarded, int64_t now)
{
    const bool left_out = guarded->group != NULL && now < groups.from;
    groups.left_out |= left_out;
    return left_out;
}

static void count_time(const struct guarded *guarded, int64_t began)
{
    if (guarded->group != NULL)
        groups.took += monotonic_now() - began;
}

/* Returns the end of a suspension. A group that lends stays suspended until about the time when the
 * guard tries groups again. */
static int64_t when_tried_again(const struct guarded *guarded, int64_t began, int64_t until)
{
    const int64_t now = monotonic_now();
    const int64_t again = now + 2 * (groups.took + now - began) * PAUSE_PER_SEARCH;
    return guarded->group != NULL && again > until ? again : until;
}

/* True: the thread lent the boost, and is suspended now. From the second search on, awake members of
 * a group are tried, too. */
static bool is_lender(struct guarded *guarded, const struct boost *boost, int64_t now,
                      int64_t began)
{
    const pid_t tid = boost->tid;
    const bool lasts = lasts_long(boost, now);
    /* computed first: reports may end the boost */
    const int64_t until = suspension_end(guarded, boost, now);
    const bool throttled = is_tried_throttled(guarded, boost);
    boost_watch(tid);
    const bool found = guarded->group != NULL &&
                       process_group_try(guarded->group, boost->priority,
                                         lasts || looks_for_many(boost, now), boost_was_ended, tid);
    if (!found && !lasts && !throttled && !lender_search_unnoticed(guarded))
        return false;
    guarded_suspend(guarded, when_tried_again(guarded, began, until));
    if (boost_was_ended(tid)) {
        note_lender(guarded);
        return true;
    }
    guarded_undo_suspension(guarded);
    return false;
}

static bool suspend_if_lender(struct guarded *guarded, const struct boost *boost, int64_t now)
{
    const int64_t began = monotonic_now();
    const bool is = is_lender(guarded, boost, now, began);
    count_time(guarded, began);
    return is;
}

static bool is_candidate(const struct guarded *guarded, pid_t tid, int priority, int64_t now)
{
    return guarded->tid != tid &&
           (guarded->state == GUARDED_IN_FORCE || guarded->state == GUARDED_ENDING) &&
           rank_may_be_lent(guarded, priority) && !is_left_out(guarded, now);
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
    if (boost_first_try(boost->priority, now) == INT64_MAX)
        return INT64_MAX;
    if (boost->searches < BOOST_SEARCHED)
        return now + (boost->searches == 0 ? first : 2 * tick);
    if (thread_is_deadline(boost->tid))
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
        if (groups.left_out && boost->try_at > groups.from)
            boost->try_at = groups.from;
        groups.left_out = false;
        boost->searches++;
        boost->over = 0;
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
    for (; guarded != NULL && tries < LENDER_TRIES_AT_ONCE && boost != NULL;
         guarded = guarded->hh.next) {
        if (place++ < search_at || !is_candidate(guarded, tid, priority, now))
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

static bool raise_again(struct guarded *guarded)
{
    const int64_t began = monotonic_now();
    boost_reports_attribute(guarded);
    const bool raised = guarded_raise(guarded);
    boost_reports_attribute(NULL);
    count_time(guarded, began);
    return raised;
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
    for (guarded = guarded_first(); guarded != NULL && !is_lower; guarded = guarded->hh.next) {
        const int64_t began = monotonic_now();
        is_lower =
            is_candidate(guarded, tid, priority, now) &&
            guarded_lower(guarded, priority, lasts || lender_search_unnoticed(guarded), true) &&
            rank_in_force(tid) > priority;
        count_time(guarded, began);
    }
    for (guarded = guarded_first(); guarded != NULL; guarded = guarded->hh.next) {
        const int64_t began = monotonic_now(),
                      until = now + guarded->window.period - guarded->window.runtime;
        const bool raised = raise_again(guarded);
        if (!raised || !is_lower || rank_in_force(tid) > priority)
            continue;
        guarded_suspend(guarded, when_tried_again(guarded, began, until));
        is_lower = rank_in_force(tid) > priority;
        if (!is_lower) {
            /* meanwhile another thread lends its rank */
            guarded_undo_suspension(guarded);
            continue;
        }
        note_lender(guarded);
        found = guarded;
    }
    (void)boost_reports_take();
    if (found != NULL)
        expect_joint_until = now + joint_again;
    return found;
}

static bool was_lent_by_last(const struct boost *boost, int64_t now)
{
    struct guarded *last = guarded_find(last_found);
    return last != NULL && is_candidate(last, boost->tid, boost->priority, now) &&
           suspend_if_lender(last, boost, now);
}

/* True: the boosted thread is SCHED_DEADLINE by itself, and has used no more than it was granted. The
 * guard only looks whether the thread has become ordinary (boost_has_other_rank), because a search
 * disturbs sleeping SCHED_DEADLINE threads. The guard searches each fiftieth time for the lender of a
 * thread that is not guarded, because it does not count the CPU time of such a thread. */
static bool is_only_watched(struct boost *boost, int64_t now)
{
    enum { SEARCH_EACH = 50 };
    struct guarded *holder = guarded_find(boost->tid);
    if (boost->priority >= 0 || boost->searches < BOOST_SEARCHED || boost->over > 0 ||
        !thread_is_deadline(boost->tid))
        return false;
    if (holder == NULL || !holder->holds)
        return boost->searches % SEARCH_EACH != 0;
    boost->over = guarded_overuse(holder, now, 0);
    return boost->over == 0;
}

/* The next look at a thread that is only watched. If an event reports an overuse, the guard looks no
 * more. */
static void watch_on(struct boost *boost, int64_t now)
{
    const struct guarded *holder = guarded_find(boost->tid);
    if (holder != NULL && guarded_is_counted(holder)) {
        boost_end(boost, boost->since);
        return;
    }
    boost_to_tail(boost);
    boost->try_at = next_search(boost, now);
    boost->searches++;
}

/* Suspends the possible lenders, one after the other. The boost ends when its lender is suspended. The
 * other threads do not notice their suspension (lender_search_unnoticed). Returns the lender,
 * which stays suspended; NULL: not found yet. */
struct guarded *lender_search(struct boost *boost, int64_t now)
{
    const pid_t tid = boost->tid;
    const int priority = boost->priority;
    bool all = false;
    if (!boost_goes_on(boost)) {
        /* If the thread has this rank by itself now, the boost lasted until then, and its time
         * counts. */
        boost_end(boost, rank_in_force(tid) < RT_PRIORITIES ? now : boost->since);
        return NULL;
    }
    if (boost_has_other_rank(boost)) {
        boost_end(boost, now);
        boost_look_at(tid, now);
        return NULL;
    }
    if (is_only_watched(boost, now)) {
        watch_on(boost, now);
        return NULL;
    }
    if (boost->rounds == 0)
        boost->rounds = search_at == 0 ? 1 : 2;
    if (was_lent_by_last(boost, now))
        return guarded_find(last_found);
    struct guarded *lender = try_next(tid, priority, now, &all);
    if (lender == NULL && all && priority == -1) {
        promotions_drain();
        boost_watch(tid);
        if (promotions_suspend(boost_was_ended, tid))
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

struct boost *lender_search_next(int64_t now)
{
    struct boost *boost = boosts_first_unknown();
    while (boost != NULL && boost->try_at > now)
        boost = TAILQ_NEXT(boost, of_unknown);
    return boost;
}

void lender_search_open(void)
{
    tick = (int64_t)tick_length() * 1000;
}
