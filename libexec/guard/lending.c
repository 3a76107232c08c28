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

/* While there is more to come. */
static const int64_t look_again = INT64_C(1000000);

struct boost {
    pid_t tid;              /* of who has more than is his */
    struct guarded *lender; /* NULL: not known yet */
    unsigned tried;         /* so many of those who are guarded, and none of them; */
    int64_t try_at;         /* the next then; INT64_MAX: nobody who is guarded */
    int priority;           /* the kernel's: 99 - rank, -1 under SCHED_DEADLINE */
    int64_t since;
    TAILQ_ENTRY(boost) of_unknown;
    UT_hash_handle hh; /* by tid */
};
static struct boost *boosts;
static TAILQ_HEAD(, boost) unknown = TAILQ_HEAD_INITIALIZER(unknown);
static TAILQ_HEAD(, guarded) lenders = TAILQ_HEAD_INITIALIZER(lenders);

static int64_t look_at = INT64_MAX; /* INT64_MAX: the rings are waited for */
static bool is_preempt_rt;          /* then they may be waited for in vain */
static int64_t looked_at;           /* without being told to */
static int64_t expect_until;        /* a thread may be made SCHED_DEADLINE */
static struct guarded *by_us;

static int64_t later(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* ---- what is lent ---- */

static int kernel_priority(const struct guarded *guarded)
{
    return guarded->granted.policy == POLICY_DEADLINE ? -1 : RT_PRIORITIES - 1 - guarded->granted.priority;
}

static void settle(struct guarded *lender, int64_t now)
{
    if (now > lender->lends_since)
        lender->lent += now - lender->lends_since;
    lender->lends_since = now;
}

static void lend(struct guarded *lender, int64_t now)
{
    if (lender->lends++ > 0)
        return;
    if (now >= lender->lends_from + lender->window.period) {
        lender->lends_from = now;
        lender->lent = 0;
    }
    lender->lends_since = now;
    lender->own = guarded_used(lender, now);
    TAILQ_INSERT_TAIL(&lenders, lender, of_lenders);
}

static void take_back(struct guarded *lender, int64_t now)
{
    settle(lender, now);
    if (--lender->lends == 0)
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
        take_back(boost->lender, now);
    else
        TAILQ_REMOVE(&unknown, boost, of_unknown);
    HASH_DEL(boosts, boost);
    free(boost);
}

static struct guarded *lender_by(pid_t caller)
{
    struct guarded *guarded = guarded_find(caller);
    const struct boost *boost = boost_of(caller);
    return guarded != NULL ? guarded : boost != NULL && boost->lender != NULL ? boost->lender : by_us;
}

static void forget(const struct guarded *lender);

/* How often a lender that is put in force again is expected to lend again at once. */
enum { LENDS_AGAIN = 5 };

static void suspend_lender(struct guarded *lender, int64_t now)
{
    lender->lends_again = lender->lends > 0 ? LENDS_AGAIN : 0;
    guarded_suspend(lender, lender->lends_from + lender->window.period > now ? lender->lends_from + lender->window.period : now + 1);
    forget(lender);
    lender->has_lent = true;
}

/* By the kernel's priority: how many threads are guarded that have it, and the shortest of their runtimes. */
static struct {
    int count;
    int64_t least;
} ranks[RT_PRIORITIES + 1];

/* It may have waited for a lock when it was made real-time, which is before anybody has an eye on it. */
static void suspect(const struct guarded *lender)
{
    struct boost *boost;
    const int64_t at = monotonic_now() + lender->window.runtime;
    TAILQ_FOREACH(boost, &unknown, of_unknown)
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
        suspect(lender);
}

/* Nobody could have used up a runtime before that. Who is only about to be guarded has a tick, for the broker mostly comes to say it. */
static int64_t first_try(int priority, int64_t since)
{
    static const int64_t patience = INT64_C(4000000);
    if (priority == -1 && ranks[0].count == 0) {
        promotions_drain();
        return promotions_any() ? since + patience : INT64_MAX;
    }
    return priority < -1 || priority >= RT_PRIORITIES || ranks[priority + 1].count == 0 ? INT64_MAX : since + ranks[priority + 1].least;
}

/* Who is known not to concern anybody makes room. */
static bool has_room(void)
{
    struct boost *boost;
    if (HASH_COUNT(boosts) < BOOSTS_MAX)
        return true;
    TAILQ_FOREACH(boost, &unknown, of_unknown)
        if (boost->try_at == INT64_MAX) {
            end_boost(boost, boost->since);
            return true;
        }
    return false;
}

static void begin_boost(pid_t tid, pid_t caller, int priority, int64_t time)
{
    struct guarded *lender = lender_by(caller);
    struct boost *boost = boost_of(tid);
    if (boost != NULL)
        end_boost(boost, time);
    if (!has_room() || (boost = calloc(1, sizeof *boost)) == NULL) {
        if (lender != NULL) /* to a thousand at a time, or in such company */
            suspend_lender(lender, time);
        return;
    }
    *boost = (struct boost){.tid = tid, .lender = lender, .priority = priority, .since = time, .try_at = first_try(priority, time)};
    HASH_ADD(hh, boosts, tid, sizeof boost->tid, boost);
    if (lender != NULL)
        lend(lender, time);
    else
        TAILQ_INSERT_TAIL(&unknown, boost, of_unknown);
}

/* ---- the rings ---- */

static void take_change(const struct change *change)
{
    const int before = change->before, after = change->after;
    struct boost *boost = boost_of(change->tid);
    if (boost != NULL && change->time < boost->since)
        return; /* of another CPU's ring, and what came after it has been read before it */
    if (after < RT_PRIORITIES && (after < before || (after < 0 && before < 0)))
        begin_boost(change->tid, change->caller, after, change->time);
    else if (boost != NULL) {
        const struct guarded *guarded = guarded_find(change->tid);
        end_boost(boost, change->time);
        if (after < RT_PRIORITIES && (guarded == NULL || kernel_priority(guarded) != after))
            begin_boost(change->tid, change->tid, after, change->time); /* by somebody else than so far, or by nobody */
    }
}

static int64_t resynchronize_at = INT64_MAX; /* INT64_MAX: no record was lost */

static bool drain_all(void)
{
    const bool some = inheritance_events_drain(take_change);
    if (inheritance_events_lost())
        resynchronize_at = 0;
    return some;
}

/* As long as an attachment may take: then who was expected is guarded, or will never be. */
static const int64_t expected_within = INT64_C(5000000000);

void lending_expected(int64_t now)
{
    promotions_drain();
    expect_until = now + expected_within;
}

/* How often one that sleeps is looked at. */
static const int64_t ask_pause = INT64_C(1000000000);

/* When the rings are looked into in any case. */
static int64_t look_anyway_at(void)
{
    if (!is_preempt_rt)
        return INT64_MAX;
    if (ranks[0].count > 0)
        return looked_at + (ranks[0].least < ask_pause ? later(ranks[0].least, look_again) : ask_pause);
    if (promotions_any() && looked_at < expect_until)
        return looked_at + look_again;
    return guarded_first() != NULL ? looked_at + ask_pause : INT64_MAX;
}

void lending_ready(int64_t now)
{
    (void)drain_all();
    if (look_at != INT64_MAX)
        return;
    inheritance_events_listen(false);
    look_at = now + look_again;
}

static void by(struct guarded *lender)
{
    (void)drain_all();
    by_us = lender;
}

static void forget(const struct guarded *lender)
{
    struct boost *boost, *next;
    (void)drain_all();
    HASH_ITER(hh, boosts, boost, next)
        if (boost->lender == lender)
            end_boost(boost, monotonic_now());
}

/* ---- what nobody tells of ---- */

/* It lent when it was suspended, and still sleeps: it waits for the lock, and the kernel should have told by now. */
static bool has_told(struct guarded *lender)
{
    if (!is_preempt_rt || lender->lends_again == 0 || lender->lends > 0 || !thread_sleeps(lender->tid))
        return true;
    lender->lends_again--;
    return false;
}

/* One that has been asleep since it was looked at before, and seems to lend nothing. False: none is due. */
static bool ask_one(int64_t now)
{
    struct guarded *guarded = guarded_first();
    while (guarded != NULL && now < guarded->ask_at)
        guarded = guarded->hh.next;
    if (guarded == NULL)
        return false;
    const int64_t ran = guarded_ran(guarded);
    if (ran == guarded->had_run && guarded->lends == 0)
        guarded_ask(guarded);
    guarded->had_run = ran;
    guarded->ask_at = now + ask_pause;
    return true;
}

/* Each costs some tens of us, and a hostile user decides how often there is a boost that nobody seems to lend. */
enum { TRIES_AT_ONCE = 16, PAUSE_PER_TRY = 20 };

static void ask_some(int64_t now)
{
    for (int i = 0; i < TRIES_AT_ONCE && ask_one(now); i++)
        ;
}

/* ---- when it is too much ---- */

/* Whether the kernel runs it above what is its own. */
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
    if (rest == NULL || sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %d", &priority) != 1 || !thread_attributes(tid, &now))
        return false;
    const int own = now.policy == POLICY_DEADLINE ? -1 - RT_PRIORITIES : policy_is_real_time(now.policy) ? -1 - now.priority : 0;
    return priority < own;
}

static int64_t over_at(const struct guarded *lender)
{
    const int64_t left = lender->window.runtime - lender->own - lender->lent;
    return lender->lends_since + (left > 0 ? left : 0);
}

/* Who waits for a lock sleeps, and one that does not may have used up its runtime, and is not demoted for nothing. But with PREEMPT_RT it may spin in
 * the kernel instead (rtmutex_spin_on_owner), as long as the holder runs: a runtime in each period, for ever. */
static bool may_wait(const struct guarded *guarded)
{
    return is_preempt_rt || thread_sleeps(guarded->tid);
}

static bool lends_really(const struct guarded *lender)
{
    struct boost *boost, *next;
    bool really = false;
    if (!may_wait(lender))
        return false;
    HASH_ITER(hh, boosts, boost, next)
        if (boost->lender == lender)
            really |= is_boosted(boost->tid);
    return really;
}

static bool is_not_boosted(pid_t tid)
{
    return !is_boosted(tid);
}

static int64_t next_try;

/* After that those that do not sleep are tried, too, if they may wait. They notice it; so it is not done for a boost that is over in a moment. */
static const int64_t long_lasting = INT64_C(200000000);

/* Whose suspension ends the boost is the lender. The others are asleep meanwhile, and notice nothing. */
static struct guarded *find_lender(struct boost *boost, int64_t now)
{
    const pid_t tid = boost->tid;
    const int priority = boost->priority;
    unsigned place = 0, tries = 0;
    const bool lasts = is_preempt_rt && now >= boost->since + long_lasting;
    struct guarded *guarded = guarded_first();
    if (!is_boosted(tid)) {
        end_boost(boost, now);
        return NULL;
    }
    for (; guarded != NULL && tries < TRIES_AT_ONCE; guarded = guarded->hh.next) {
        if ((guarded->state != GUARDED_IN_FORCE && guarded->state != GUARDED_LEAVING) || kernel_priority(guarded) != priority || place++ < boost->tried)
            continue;
        tries++;
        if (!lasts && !thread_sleeps(guarded->tid))
            continue;
        guarded_suspend(guarded, now + guarded->window.period - guarded->window.runtime);
        if (!is_boosted(tid)) {
            guarded->lends_again = LENDS_AGAIN;
            guarded->has_lent = true;
            return guarded;
        }
        guarded_pardon(guarded);
        if ((boost = boost_of(tid)) == NULL)
            return NULL;
    }
    if (guarded == NULL && priority == -1) {
        promotions_drain();
        if (promotions_suspend(is_not_boosted, tid) || (boost = boost_of(tid)) == NULL)
            return NULL;
    }
    boost->tried = guarded == NULL ? 0 : boost->tried + tries;
    boost->try_at = guarded != NULL ? now : is_preempt_rt && !lasts ? boost->since + long_lasting : INT64_MAX;
    return NULL;
}

/* What is lent without a record would be bounded by nothing: whoever sleeps may be waiting for a lock. */
static void resynchronize(void)
{
    struct guarded *guarded;
    resynchronize_at = INT64_MAX;
    for (guarded = guarded_first(); guarded != NULL; guarded = guarded->hh.next)
        guarded_ask(guarded);
}

/* One that is due. */
static struct boost *to_be_tried(int64_t now)
{
    struct boost *boost;
    TAILQ_FOREACH(boost, &unknown, of_unknown)
        if (boost->try_at <= now && now >= next_try)
            return boost;
    return NULL;
}

/* Into the rings, when it is time. */
static void look(int64_t now)
{
    if (now >= look_anyway_at()) {
        looked_at = now;
        guarded_forget_leaving(); /* or they would be looked for for ever */
        (void)drain_all();
        ask_some(now);
    }
    if (now < look_at)
        return;
    look_at = drain_all() ? now + look_again : INT64_MAX;
    if (look_at != INT64_MAX)
        return;
    inheritance_events_listen(true);
    if (drain_all()) /* what came between the two wakes nobody any more */
        lending_ready(now);
}

struct guarded *lending_expire(int64_t now)
{
    struct guarded *lender, *next;
    struct boost *boost;
    look(now);
    for (lender = TAILQ_FIRST(&lenders); lender != NULL; lender = next) {
        next = TAILQ_NEXT(lender, of_lenders);
        if (over_at(lender) > now)
            continue;
        if (lends_really(lender)) {
            suspend_lender(lender, now);
            return lender;
        }
        forget(lender);
        return NULL; /* the list has changed; there is another turn at once, if need be */
    }
    lender = NULL;
    if (now >= later(resynchronize_at, next_try))
        resynchronize();
    else if ((boost = to_be_tried(now)) != NULL)
        lender = find_lender(boost, now);
    else
        return NULL;
    next_try = monotonic_now() + (monotonic_now() - now) * PAUSE_PER_TRY;
    return lender;
}

int64_t lending_deadline(void)
{
    const struct guarded *lender;
    const struct boost *boost;
    int64_t first = look_at < look_anyway_at() ? look_at : look_anyway_at();
    if (later(resynchronize_at, next_try) < first)
        first = later(resynchronize_at, next_try);
    TAILQ_FOREACH(lender, &lenders, of_lenders)
        if (over_at(lender) < first)
            first = over_at(lender);
    TAILQ_FOREACH(boost, &unknown, of_unknown)
        if (later(boost->try_at, next_try) < first)
            first = later(boost->try_at, next_try);
    return first;
}

bool lending_may_come_unseen(void)
{
    return is_preempt_rt;
}

bool lending_open(const char *tracepoint, int epoll, uint64_t as)
{
    static const struct guarded_events events = {.by = by, .may_lend = may_lend, .forget = forget, .has_told = has_told};
    struct utsname kernel;
    is_preempt_rt = uname(&kernel) == 0 && strstr(kernel.version, "PREEMPT_RT") != NULL;
    guarded_listen(&events);
    return inheritance_events_open(tracepoint, epoll, as);
}
