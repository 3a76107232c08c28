#include "boosts.h"

#include <stdlib.h>

#include "lent-ranks.h"

/* RESERVED places are for boosts with an unknown lender. Otherwise a user could fill the table with
 * boosts of known lenders, and hide a boost. */
enum { BOOSTS_MAX = 1024, RESERVED = 256 };

static struct boost *boosts;
static TAILQ_HEAD(, boost) unknown = TAILQ_HEAD_INITIALIZER(unknown);
static TAILQ_HEAD(, guarded) lenders = TAILQ_HEAD_INITIALIZER(lenders);

struct boost *boost_of(pid_t tid)
{
    struct boost *boost;
    HASH_FIND(hh, boosts, &tid, sizeof tid, boost);
    return boost;
}

struct boost *boosts_first(void)
{
    return boosts;
}

struct boost *boosts_first_unknown(void)
{
    return TAILQ_FIRST(&unknown);
}

struct guarded *boosts_first_lender(void)
{
    return TAILQ_FIRST(&lenders);
}

/* ---- what a guarded thread lends ---- */

/* A single thread counts once, because a thread waits for one lock at a time. The members of a
 * group may wait for several locks, so each boost counts. */
int64_t lending_at_once(const struct guarded *lender)
{
    return lender->group != NULL ? lender->boost_count : 1;
}

void lending_count(struct guarded *lender, int64_t now)
{
    if (now > lender->lent_counted_to)
        lender->lent += (now - lender->lent_counted_to) * lending_at_once(lender);
    lender->lent_counted_to = now;
}

static void begin_lending(struct guarded *lender, int64_t now)
{
    if (lender->boost_count > 0) {
        lending_count(lender, now);
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
    lending_count(lender, now);
    if (--lender->boost_count == 0)
        TAILQ_REMOVE(&lenders, lender, of_lenders);
}

/* A known lender pays for the time that the kernel did not throttle the boosted thread. */
static void pay(const struct boost *boost, int64_t now)
{
    struct guarded *holder = boost->priority < 0 ? guarded_find(boost->tid) : NULL;
    if (holder != NULL && now > boost->since)
        guarded_pay(holder, now, now - boost->since);
}

/* ---- boosts ---- */

void boost_end(struct boost *boost, int64_t now)
{
    if (boost->lender != NULL) {
        end_lending(boost->lender, now);
        pay(boost, now);
    } else {
        rank_note_unknown(boost->priority, now - boost->since, now);
        TAILQ_REMOVE(&unknown, boost, of_unknown);
    }
    HASH_DEL(boosts, boost);
    free(boost);
}

void boost_disown(struct boost *boost, int64_t now, int64_t try_at)
{
    if (boost->lender == NULL)
        return;
    end_lending(boost->lender, now);
    pay(boost, now);
    boost->lender = NULL;
    boost->rounds = 0;
    boost->since = now;
    boost->try_at = try_at;
    TAILQ_INSERT_TAIL(&unknown, boost, of_unknown);
}

void boost_to_tail(struct boost *boost)
{
    if (boost->lender != NULL)
        return;
    TAILQ_REMOVE(&unknown, boost, of_unknown);
    TAILQ_INSERT_TAIL(&unknown, boost, of_unknown);
}

static bool evicted;

bool boosts_evicted(void)
{
    const bool was = evicted;
    evicted = false;
    return was;
}

/* True: the table has room for a new boost. If the table is full, removes a boost that no guarded
 * thread can lend, or, for a known lender, a boost whose lender was not found in several searches. */
static bool has_room(bool lender_is_known)
{
    struct boost *boost;
    if (HASH_COUNT(boosts) < (lender_is_known ? BOOSTS_MAX - RESERVED : BOOSTS_MAX))
        return true;
    TAILQ_FOREACH (boost, &unknown, of_unknown)
        if (boost->try_at == INT64_MAX || (lender_is_known && boost->searches > 2)) {
            evicted |= boost->try_at != INT64_MAX;
            boost_end(boost, boost->since);
            return true;
        }
    return false;
}

bool boost_begin(pid_t tid, struct guarded *lender, int priority, int64_t since, int64_t try_at)
{
    struct boost *boost = boost_of(tid);
    if (boost != NULL)
        boost_end(boost, since);
    if (!has_room(lender != NULL) || (boost = calloc(1, sizeof *boost)) == NULL)
        return false;
    *boost = (struct boost){
        .tid = tid, .lender = lender, .priority = priority, .since = since, .try_at = try_at};
    HASH_ADD(hh, boosts, tid, sizeof boost->tid, boost);
    if (lender != NULL)
        begin_lending(lender, since);
    else
        TAILQ_INSERT_TAIL(&unknown, boost, of_unknown);
    return true;
}
