#include "rest.h"

#include <stdlib.h>
#include <time.h>

#include "acl.h"
#include "ledger.h"
#include "units.h"
#include "wishes.h"

struct rest {
    TAILQ_ENTRY(rest) next;
    uint64_t task;
    struct grant grant;
    int64_t until;
    UT_hash_handle hh; /* by task */
};

static TAILQ_HEAD(, rest) rests = TAILQ_HEAD_INITIALIZER(rests);
static struct rest *by_task;
static TAILQ_HEAD(, request) waiting = TAILQ_HEAD_INITIALIZER(waiting);
static int64_t earliest = INT64_MAX; /* of both */

/* The longest period that the kernel takes: nobody is kept waiting longer for crumbs that a tick has multiplied. */
static const uint64_t longest = 4200000; /* us */

static uint64_t tick(void)
{
    struct timespec resolution;
    return clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) == 0 ? (uint64_t)resolution.tv_nsec / 1000 : 10000;
}

/* Many end by one wakeup: finer than by ticks nobody knows what was used. */
static int64_t by_tick(int64_t time)
{
    const int64_t ns = (int64_t)tick() * 1000;
    return (time / ns + 1) * ns;
}

static void expect(int64_t time)
{
    if (time < earliest)
        earliest = time;
}

void rest_begin(struct wish *wish, const struct grant *grant)
{
    const struct attachment *attachment = wish->attachment;
    if (grant == NULL || grant->plan.policy != POLICY_DEADLINE || !attachment->served)
        return;
    int64_t now = monotonic_now();
    uint64_t used = (uint64_t)(now - attachment->since) / 1000, most = grant->plan.runtime + tick();
    uint64_t paid_back = (used < most ? used : most) * grant->plan.period / grant->plan.runtime + 1;
    if (paid_back > longest)
        paid_back = grant->plan.period > longest ? grant->plan.period : longest;
    int64_t until = now + (int64_t)paid_back * 1000;
    wish->rests_until = until > wish->rests_until ? until : wish->rests_until;
}

static int64_t last_in_kernel;

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

/* Of the runtime, in its own window, what the new grant does not go on weighing there. */
static uint64_t given_up_runtime(const struct grant *given_up, const struct grant *kept)
{
    if (kept == NULL || kept->plugin != given_up->plugin || !CPU_EQUAL(&kept->plan.cpus, &given_up->plan.cpus))
        return given_up->plan.runtime;
    if (kept->utilization >= given_up->utilization)
        return 0;
    uint64_t less = runtime_within(given_up->utilization - kept->utilization, grant_window(given_up)) + 1;
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

uint64_t rest_keep(const struct wish *wish, struct grant *given_up, const struct grant *kept)
{
    uint64_t runtime = given_up_runtime(given_up, kept);
    if (given_up->plan.policy != POLICY_DEADLINE || wish->rests_until <= monotonic_now() || runtime == 0)
        return 0;
    struct rest *rest = allocate(sizeof *rest);
    rest->task = task_new();
    rest->until = by_tick(wish->rests_until);
    rest->grant = *given_up;
    rest->grant.plan.runtime = rest->grant.spec.runtime = runtime;
    rest->grant.spec.desired_runtime = 0;
    rest->grant.utilization = grant_utilization(&rest->grant);
    charge_rest(rest, given_up, kept);
    ledger_add(&rest->grant);
    (void)plugin_schedule(rest->grant.plugin, rest->task, &rest->grant);
    tell_neighbours(rest->task, NULL, &rest->grant);
    TAILQ_INSERT_TAIL(&rests, rest, next);
    HASH_ADD(hh, by_task, task, sizeof rest->task, rest);
    expect(rest->until);
    return rest->task;
}

static struct rest *find(uint64_t task)
{
    struct rest *rest;
    HASH_FIND(hh, by_task, &task, sizeof task, rest);
    return rest;
}

static void end(struct rest *rest)
{
    ledger_remove(&rest->grant);
    acl_release(&rest->grant.charge);
    (void)plugin_release(rest->grant.plugin, rest->task);
    tell_neighbours(rest->task, &rest->grant, NULL);
    TAILQ_REMOVE(&rests, rest, next);
    HASH_DEL(by_task, rest);
    free(rest);
}

void rest_drop(uint64_t task)
{
    struct rest *rest = find(task);
    if (rest != NULL)
        end(rest);
}

void rest_feed(int plugin)
{
    const struct rest *rest;
    TAILQ_FOREACH(rest, &rests, next)
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
    TAILQ_FOREACH(rest, &rests, next) {
        free(rest->grant.charge.parts);
        rest->grant.charge = (struct charge){0};
    }
}

/* ---- requests that wait ---- */

/* Nobody else has to wait for his turn meanwhile. If the kernel then refuses a change that had one, the grant before comes back if
 * the sums hold, as for plugins that take no turns. */
static void wait_until(struct request *request, int64_t until, enum next rested)
{
    turn_end(request);
    request->rested = rested;
    request->step = STEP_REST;
    request->rests_until = until;
    TAILQ_INSERT_TAIL(&waiting, request, of_rest);
    expect(until);
}

bool rest_waits(struct request *request, enum next rested)
{
    if (request->wish->rests_until <= monotonic_now())
        return false;
    wait_until(request, request->wish->rests_until, rested);
    return true;
}

/* At least: a density would be more. */
static uint64_t missing(const struct request *request)
{
    const struct spec *spec = &request->spec;
    uint64_t window = spec->period != 0 ? spec->period : spec->deadline;
    return window == 0 || spec->runtime <= request->nearest ? 0 : utilization(spec->runtime - request->nearest, window);
}

/* Nobody is to wait for crumbs, which a hostile user could spread all the time. */
bool rest_may_help(struct request *request)
{
    const struct rest *rest;
    uint64_t coming = 0, needed = missing(request);
    bool by_quota = request->no_plugin < 0;
    int64_t last = 0;
    if (request->patient || needed == 0)
        return false;
    TAILQ_FOREACH(rest, &rests, next) {
        if (by_quota && rest->grant.charge.count == 0)
            continue;
        coming += rest->grant.utilization;
        last = rest->until > last ? rest->until : last;
    }
    if (coming < needed)
        return false;
    request->patient = true;
    wait_until(request, last, ASK);
    return true;
}

bool rest_cancel(struct request *request)
{
    if (request->step != STEP_REST || request->rested == DETACH_ON || (request->rested != ASK && request->outcome.kind != ATTACH))
        return false;
    TAILQ_REMOVE(&waiting, request, of_rest);
    request_drop(request);
    return true;
}

/* ---- time ---- */

void rest_expire(int64_t now)
{
    struct rest *rest, *after;
    const struct request *request;
    if (now < earliest)
        return;
    earliest = INT64_MAX;
    for (rest = TAILQ_FIRST(&rests); rest != NULL; rest = after) {
        after = TAILQ_NEXT(rest, next);
        if (rest->until <= now)
            end(rest);
        else
            expect(rest->until);
    }
    TAILQ_FOREACH(request, &waiting, of_rest)
        expect(request->rests_until);
}

struct request *rest_over(int64_t now)
{
    struct request *request;
    if (now < earliest)
        return NULL;
    TAILQ_FOREACH(request, &waiting, of_rest)
        if (request->rests_until <= now) {
            TAILQ_REMOVE(&waiting, request, of_rest);
            return request;
        }
    rest_expire(now);
    return NULL;
}

int64_t rest_deadline(void)
{
    return earliest;
}

void rest_each(void (*each)(uint64_t task, const struct grant *grant))
{
    const struct rest *rest;
    TAILQ_FOREACH(rest, &rests, next)
        each(rest->task, &rest->grant);
}
