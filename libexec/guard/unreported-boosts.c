#include "unreported-boosts.h"

#include "boost-reports.h"
#include "boosts.h"
#include "clock.h"
#include "inheritance-events.h"
#include "lender-search.h"
#include "lent-ranks.h"
#include "promotions.h"

static int64_t last_unprompted_read; /* when the events were last read without a wakeup or timer */
/* until this time the attach helper may make a thread SCHED_DEADLINE */
static int64_t expect_until;

/* ns. The longest time of an attachment: after it the thread is guarded, or is never made
 * real-time. */
static const int64_t expected_within = INT64_C(5000000000);

void unreported_boosts_expect_promotion(int64_t now)
{
    promotions_drain();
    expect_until = now + expected_within;
}

/* ns. How often a sleeping thread is checked for a boost that the kernel did not report. */
static const int64_t check_interval = INT64_C(1000000000);

/* ns. The reports are not read more often without a wakeup. */
static const int64_t read_interval = INT64_C(1000000);

/* Returns the interval between two reads as long as SCHED_DEADLINE threads are guarded. */
static int64_t interval_for(int64_t shortest_runtime)
{
    if (shortest_runtime < read_interval)
        return read_interval;
    return shortest_runtime < check_interval ? shortest_runtime : check_interval;
}

int64_t unreported_boosts_due(void)
{
    if (!inheritance_events_may_fail())
        return INT64_MAX;
    const int64_t shortest = rank_shortest_runtime(-1);
    if (shortest > 0)
        return last_unprompted_read + interval_for(shortest);
    if (promotions_any() && last_unprompted_read < expect_until)
        return last_unprompted_read + read_interval;
    return guarded_first() != NULL ? last_unprompted_read + check_interval : INT64_MAX;
}

/* Called when a suspended thread runs as granted again. False: a report of the kernel is missing.
 * The thread lent its rank when it was suspended, and still sleeps, so it still waits for the lock;
 * but the kernel has reported no boost since. */
bool unreported_boosts_none(struct guarded *lender)
{
    if (!inheritance_events_may_fail() || lender->report_attempts == 0 || lender->boost_count > 0 ||
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

static void check_sleepers(int64_t now)
{
    for (int i = 0; i < LENDER_TRIES_AT_ONCE && check_one_sleeper(now); i++)
        ;
}

void unreported_boosts_look(int64_t now)
{
    if (now < unreported_boosts_due())
        return;
    last_unprompted_read = now;
    /* An ENDING thread would otherwise keep this periodic read going for ever. */
    guarded_forget_ended();
    (void)boost_reports_take();
    check_sleepers(now);
}
