#include "rest.h"

#include <bsd/sys/tree.h>
#include <stdlib.h>

#include "acl.h"
#include "grants.h"
#include "guard.h"
#include "ledger.h"
#include "memory.h"
#include "spec.h"
#include "tasks.h"
#include "tick.h"
#include "units.h"

/* What a reservation has given up of one plugin's CPUs is one record, however often it gave up something: the plugins know each of them
 * as a task. While a change is under way, what it gives up is a record of its own: it may have to come back. */
struct held_by {
    uint64_t task; /* of the reservation */
    int plugin;
    cpu_set_t cpus;
};

struct rest {
    RB_ENTRY(rest) of_time;
    uint64_t task;
    struct grant grant;
    uint64_t rate, density; /* sums of its parts, each rounded up to a billionth; what grant says is never less */
    bool mixed;             /* of parts with several periods or deadlines */
    bool open;              /* of a change that is under way */
    int64_t until;
    struct held_by holder;
    UT_hash_handle hh;        /* by task */
    UT_hash_handle hh_holder; /* by holder, if it is not open */
};

static int sooner(const struct rest *one, const struct rest *other)
{
    if (one->until != other->until)
        return one->until < other->until ? -1 : 1;
    return one->task < other->task ? -1 : one->task > other->task;
}

RB_HEAD(rest_tree, rest);
RB_PROTOTYPE(rest_tree, rest, of_time, sooner)
RB_GENERATE(rest_tree, rest, of_time, sooner)
static struct rest_tree rests = RB_INITIALIZER(&rests);
static struct rest *by_task, *by_holder;
static uint64_t resting, resting_in_quotas; /* utilizations: of all, and of those that are charged to somebody */

/* The longest period that the kernel takes: nobody is kept waiting longer for crumbs that a tick has multiplied. */
static const uint64_t longest = 4200000; /* us */

/* Many end by one wakeup: finer than by ticks nobody knows what was used. */
static int64_t by_tick(int64_t time)
{
    const int64_t ns = (int64_t)tick_length() * 1000;
    return (time / ns + 1) * ns;
}

bool rest_applies(const struct grant *grant)
{
    return grant->plan.policy == POLICY_DEADLINE || guard_enforces(grant);
}

void rest_begin(struct wish *wish, const struct grant *grant)
{
    const struct attachment *attachment = wish->attachment;
    if (grant == NULL || !rest_applies(grant) || !attachment->served)
        return;
    int64_t now = monotonic_now();
    const uint64_t window = grant->plan.policy == POLICY_DEADLINE ? grant->plan.period : grant_window(grant);
    uint64_t used = (uint64_t)(now - attachment->since) / 1000, most = grant->plan.runtime + tick_length();
    uint64_t paid_back = (used < most ? used : most) * window / grant->plan.runtime + 1;
    if (paid_back > longest)
        paid_back = window > longest ? window : longest;
    int64_t until = now + (int64_t)paid_back * 1000;
    wish->rests_until = until > wish->rests_until ? until : wish->rests_until;
}

static int64_t last_in_kernel;

void rest_of_thread(const struct wish *wish)
{
    if (wish->grant != NULL && wish->grant->plan.policy == POLICY_DEADLINE)
        rest_in_kernel(wish->rests_until);
}

void rest_in_kernel(int64_t until)
{
    if (until > last_in_kernel)
        last_in_kernel = until;
}

int64_t rest_last_in_kernel(void)
{
    return last_in_kernel;
}

/* ---- what is given up ---- */

/* rtf-guard holds to its runtime what states a deadline alone, too: that is its window then. */
static uint64_t period_of(const struct grant *grant)
{
    return grant->plan.period != 0 ? grant->plan.period : grant_window(grant);
}

static uint64_t rate_of(const struct grant *grant)
{
    const uint64_t period = period_of(grant);
    return period == 0 ? 0 : utilization(grant->plan.runtime, period);
}

/* The runtime that weighs so much in this window as there is less of it, rounded up. */
static uint64_t runtime_between(uint64_t before, uint64_t after, uint64_t window)
{
    if (after >= before)
        return 0;
    const uint64_t runtime = runtime_within(before - after, window);
    return runtime + (utilization(runtime, window) < before - after);
}

/* Of the runtime what the new grant does not go on weighing there: in its line's sum, and in that of all lines, which is of rates. With a
 * shorter deadline, half of a runtime can weigh as much in the one, and half in the other. */
static uint64_t given_up_runtime(const struct grant *given_up, const struct grant *kept)
{
    if (kept == NULL || kept->plugin != given_up->plugin || !CPU_EQUAL(&kept->plan.cpus, &given_up->plan.cpus))
        return given_up->plan.runtime;
    const uint64_t own = runtime_between(given_up->utilization, kept->utilization, grant_window(given_up));
    const uint64_t all = runtime_between(rate_of(given_up), rate_of(kept), period_of(given_up));
    const uint64_t less = own > all ? own : all;
    return less < given_up->plan.runtime ? less : given_up->plan.runtime;
}

static void charge_rest(struct rest *rest, struct grant *given_up, const struct grant *kept)
{
    uint64_t before = acl_weight(&given_up->spec, given_up->plan.runtime);
    uint64_t after = kept != NULL && kept->plugin == given_up->plugin ? acl_weight(&kept->spec, kept->plan.runtime) : 0;
    rest->grant.charge = given_up->charge;
    given_up->charge = (struct charge){0};
    acl_settle(&rest->grant.charge, before > after ? before - after : 0);
}

static void count(const struct rest *rest, bool in)
{
    uint64_t amount = in ? rest->grant.utilization : -rest->grant.utilization; /* unsigned: subtracts exactly */
    resting += amount;
    resting_in_quotas += rest->grant.charge.count == 0 ? 0 : amount;
}

static void enter(struct rest *rest)
{
    ledger_add(&rest->grant);
    (void)plugin_schedule(rest->grant.plugin, rest->task, &rest->grant);
    tell_neighbours(rest->task, NULL, &rest->grant);
    count(rest, true);
    RB_INSERT(rest_tree, &rests, rest);
    HASH_ADD(hh, by_task, task, sizeof rest->task, rest);
}

uint64_t rest_keep(const struct wish *wish, struct grant *given_up, const struct grant *kept)
{
    uint64_t runtime = given_up_runtime(given_up, kept);
    if (!rest_applies(given_up) || wish->rests_until <= monotonic_now() || runtime == 0)
        return 0;
    struct rest *rest = allocate(sizeof *rest);
    rest->task = task_new();
    rest->until = by_tick(wish->rests_until);
    rest->open = true;
    rest->holder.task = wish->task;
    rest->holder.plugin = given_up->plugin;
    rest->holder.cpus = given_up->plan.cpus;
    rest->grant = *given_up;
    rest->grant.plan.runtime = rest->grant.spec.runtime = runtime;
    rest->grant.spec.desired_runtime = 0;
    rest->grant.plan.period = rest->grant.spec.period = period_of(given_up);
    rest->grant.utilization = grant_utilization(&rest->grant);
    rest->rate = rate_of(&rest->grant);
    rest->density = acl_weight(&rest->grant.spec, runtime);
    charge_rest(rest, given_up, kept);
    enter(rest);
    return rest->task;
}

static struct rest *find(uint64_t task)
{
    struct rest *rest;
    HASH_FIND(hh, by_task, &task, sizeof task, rest);
    return rest;
}

/* The record of its user that others are added to. One that its plugin has moved elsewhere since is not. */
static struct rest *record_of(const struct held_by *holder)
{
    struct rest *rest;
    HASH_FIND(hh_holder, by_holder, holder, sizeof *holder, rest);
    return rest;
}

static void unlink_holder(struct rest *rest)
{
    if (record_of(&rest->holder) == rest)
        HASH_DELETE(hh_holder, by_holder, rest);
}

static void end(struct rest *rest)
{
    ledger_remove(&rest->grant);
    count(rest, false);
    acl_release(&rest->grant.charge);
    (void)plugin_release(rest->grant.plugin, rest->task);
    tell_neighbours(rest->task, &rest->grant, NULL);
    RB_REMOVE(rest_tree, &rests, rest);
    HASH_DEL(by_task, rest);
    unlink_holder(rest);
    free(rest);
}

/* One task that weighs what its parts weigh together, as a rate and as a density, whichever its plugin counts. Parts of one period
 * and deadline are added as they are. Of others it has the shortest period: nothing is asked of it but to hold that share until it
 * is paid back, and the shorter the period, the more evenly it does. */
static void add_times(struct rest *sum, const struct rest *more)
{
    struct grant *grant = &sum->grant;
    const struct attributes *plan = &more->grant.plan;
    sum->rate += more->rate;
    sum->density += more->density;
    sum->mixed |= more->mixed || plan->period != grant->plan.period || plan->deadline != grant->plan.deadline;
    if (!sum->mixed) {
        grant->plan.runtime += plan->runtime;
    } else {
        uint64_t period = plan->period < grant->plan.period ? plan->period : grant->plan.period;
        uint64_t runtime = (uint64_t)(((unsigned __int128)sum->rate * period + ONE_CPU - 1) / ONE_CPU);
        uint64_t deadline = (uint64_t)((unsigned __int128)runtime * ONE_CPU / sum->density);
        deadline = deadline > period ? period : deadline == 0 ? 1 : deadline;
        grant->plan.runtime = runtime;
        grant->plan.period = grant->spec.period = period;
        grant->plan.deadline = grant->spec.deadline = deadline;
    }
    grant->spec.runtime = grant->plan.runtime;
    bool by_rate = grant_window(grant) != spec_window(&grant->spec);
    /* Whole microseconds of a short period would be more than was ever granted. */
    grant->utilization = !sum->mixed ? grant_utilization(grant) : by_rate ? sum->rate : sum->density;
}

/* Nothing is given back before all of it is paid back: the last of its parts tells when. */
static void join(struct rest *record, struct rest *more)
{
    struct grant before = record->grant;
    RB_REMOVE(rest_tree, &rests, record);
    count(record, false);
    count(more, false);
    record->until = more->until > record->until ? more->until : record->until;
    add_times(record, more);
    acl_join(&record->grant.charge, &more->grant.charge);
    count(record, true);
    count(more, true); /* until it ends, right now */
    RB_INSERT(rest_tree, &rests, record);
    ledger_add(&record->grant);
    ledger_remove(&before);
    (void)plugin_schedule(record->grant.plugin, record->task, &record->grant);
    tell_neighbours(record->task, &before, &record->grant);
    end(more);
}

void rest_settle(uint64_t task)
{
    struct rest *rest = find(task), *record;
    if (rest == NULL || !rest->open)
        return;
    rest->open = false;
    rest->holder.cpus = rest->grant.plan.cpus;
    record = record_of(&rest->holder);
    if (record != NULL && CPU_EQUAL(&record->grant.plan.cpus, &rest->grant.plan.cpus)) {
        join(record, rest);
        return;
    }
    if (record != NULL) /* its plugin has moved it to another CPU */
        unlink_holder(record);
    HASH_ADD(hh_holder, by_holder, holder, sizeof rest->holder, rest);
}

void rest_drop(uint64_t task)
{
    struct rest *rest = find(task);
    if (rest != NULL && rest->open)
        end(rest);
}

void rest_feed(int plugin)
{
    struct rest *rest;
    RB_FOREACH(rest, rest_tree, &rests)
        feed_one(plugin, rest->task, &rest->grant);
}

struct grant *rest_grant(uint64_t task)
{
    struct rest *rest = find(task);
    return rest == NULL ? NULL : &rest->grant;
}

void rest_uncharge(void)
{
    struct rest *rest;
    RB_FOREACH(rest, rest_tree, &rests) {
        free(rest->grant.charge.parts);
        rest->grant.charge = (struct charge){0};
    }
    resting_in_quotas = 0;
}

uint64_t rest_sum(bool by_quota)
{
    return by_quota ? resting_in_quotas : resting;
}

int64_t rest_last(bool by_quota)
{
    struct rest *rest = RB_MAX(rest_tree, &rests);
    while (by_quota && rest != NULL && rest->grant.charge.count == 0)
        rest = RB_PREV(rest_tree, &rests, rest);
    return rest == NULL ? 0 : rest->until;
}

/* ---- time ---- */

void rest_expire(int64_t now)
{
    struct rest *rest;
    while ((rest = RB_MIN(rest_tree, &rests)) != NULL && rest->until <= now)
        end(rest);
}

int64_t rest_deadline(void)
{
    const struct rest *rest = RB_MIN(rest_tree, &rests);
    return rest == NULL ? INT64_MAX : rest->until;
}

unsigned rest_count(void)
{
    return HASH_COUNT(by_task);
}

void rest_each(void (*each)(uint64_t task, const struct grant *grant))
{
    struct rest *rest;
    RB_FOREACH(rest, rest_tree, &rests)
        each(rest->task, &rest->grant);
}
