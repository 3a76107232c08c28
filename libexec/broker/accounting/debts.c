#include "debts.h"

#include <stdlib.h>

#include "acl.h"
#include "resource-cpu.h"
#include "grants.h"
#include "ledger.h"
#include "memory.h"
#include "plugins.h"
#include "spec.h"
#include "tasks.h"
#include "tick.h"
#include "units.h"

/* A record holds all the capacity that one reservation has given up on the CPUs of one plugin. The
 * plugin knows the record as one task. While a change is under way, the capacity that the change
 * gives up has a record of its own, because the reservation gets the capacity back if the change
 * fails. */
struct held_by {
    uint64_t task; /* the task number of the reservation */
    int plugin;
    cpu_set_t cpus;
};

struct debt {
    struct timer paid_back;
    uint64_t task;
    struct grant grant;
    /* the sums of the parts' rates and densities, each rounded up to a billionth of a CPU; `grant`,
     * in whole microseconds, may have more */
    uint64_t rate, density;
    bool mixed; /* the parts of the record differ in their periods or deadlines */
    bool open;  /* the record belongs to a change that is under way */
    struct held_by holder;
    UT_hash_handle hh;        /* by task */
    UT_hash_handle hh_holder; /* by holder; an `open` record is not in this table */
};

/* A sum of debts: of all debts, or of the debts that are charged to counters of rules. */

struct owed {
    uint64_t sum; /* the sum of the debts' utilizations */
    int64_t last; /* all debts of the sum are paid back at this time or earlier */
};

static struct {
    struct debt *by_task, *by_holder; /* the heads of the hash tables */
    struct owed all, in_quotas;
    int64_t last_in_kernel;
} debts;

/* The longest time for which a debt lasts, unless the reservation's own period is longer. This is
 * about the longest period that SCHED_DEADLINE allows. A use of a few microseconds may be measured
 * as a whole tick. Without the bound, the owner of a tiny runtime would then wait for minutes. */
static const uint64_t longest = 4200000; /* us */

/* Rounds the time up to a tick, so that one wakeup of the broker ends many debts. The broker does
 * not know the used time more exactly anyway. */
static int64_t by_tick(int64_t time)
{
    const int64_t ns = (int64_t)tick_length() * 1000;
    return (time / ns + 1) * ns;
}

bool debt_applies(const struct grant *grant)
{
    return grant->plugin != NO_PLUGIN &&
           (grant->plan.policy == POLICY_DEADLINE || grant_is_enforced(grant));
}

void debt_begin(struct reservation *reservation, const struct grant *grant)
{
    const struct attachment *attachment = reservation->attachment;
    if (grant == NULL || !debt_applies(grant) || !attachment->served)
        return;
    int64_t now = monotonic_now();
    const uint64_t window =
        grant->plan.policy == POLICY_DEADLINE ? grant->plan.period : cpu_window(grant);
    uint64_t used = (uint64_t)(now - attachment->since) / 1000,
             most = grant->plan.runtime + tick_length();
    uint64_t paid_back = (used < most ? used : most) * window / grant->plan.runtime + 1;
    if (paid_back > longest)
        paid_back = window > longest ? window : longest;
    int64_t until = now + (int64_t)paid_back * 1000;
    reservation->zero_lag = until > reservation->zero_lag ? until : reservation->zero_lag;
}

void debt_of_thread(const struct reservation *reservation)
{
    if (reservation->grant != NULL && reservation->grant->plan.policy == POLICY_DEADLINE)
        debt_in_kernel(reservation->zero_lag);
}

void debt_in_kernel(int64_t until)
{
    if (until > debts.last_in_kernel)
        debts.last_in_kernel = until;
}

int64_t debt_last_in_kernel(void)
{
    return debts.last_in_kernel;
}

/* ---- the debt of a change ---- */

/* Returns the period of the grant. If the grant has no period, returns its deadline, because
 * rtf-guard also enforces the runtime of a grant with a deadline and no period. */
static uint64_t period_of(const struct grant *grant)
{
    return grant->plan.period != 0 ? grant->plan.period : cpu_window(grant);
}

static uint64_t rate_of(const struct grant *grant)
{
    const uint64_t period = period_of(grant);
    return period == 0 ? 0 : utilization(grant->plan.runtime, period);
}

/* Returns the smallest runtime whose utilization in `window` is at least `before` - `after`. */
static uint64_t runtime_between(uint64_t before, uint64_t after, uint64_t window)
{
    if (after >= before)
        return 0;
    const uint64_t runtime = runtime_within(before - after, window);
    return runtime + (utilization(runtime, window) < before - after);
}

/* Returns the part of the runtime that the new grant gives up. The ledger has two sums: the
 * plugin's sum of utilizations, which can depend on the deadline, and the sum of a CPU that several
 * plugins share, which has rates (runtime / period). The function computes the difference of the
 * two grants in each sum, and takes the larger difference. For example, a new grant with half of
 * the runtime and a shorter deadline can have the same utilization as before, but a smaller
 * rate. */
static uint64_t given_up_runtime(const struct grant *given_up, const struct grant *kept)
{
    if (kept == NULL || kept->plugin != given_up->plugin ||
        !CPU_EQUAL(&kept->plan.cpus, &given_up->plan.cpus))
        return given_up->plan.runtime;
    const uint64_t own =
        runtime_between(given_up->utilization, kept->utilization, cpu_window(given_up));
    const uint64_t all = runtime_between(rate_of(given_up), rate_of(kept), period_of(given_up));
    const uint64_t less = own > all ? own : all;
    return less < given_up->plan.runtime ? less : given_up->plan.runtime;
}

static void charge_debt(struct debt *debt, struct grant *given_up, const struct grant *kept)
{
    uint64_t before = acl_weight(&given_up->spec, given_up->plan.runtime);
    debt->grant.charge = given_up->charge;
    given_up->charge = (struct charge){0};
    if (kept == NULL || kept->plugin != given_up->plugin) {
        acl_settle(&debt->grant.charge, before);
        return;
    }
    uint64_t after = acl_weight(&kept->spec, kept->plan.runtime);
    acl_settle_rest(&debt->grant.charge, before > after ? before - after : 0);
}

static void count_in(struct owed *in, const struct debt *debt)
{
    in->sum += debt->grant.utilization;
    in->last = debt->paid_back.at > in->last ? debt->paid_back.at : in->last;
}

static void count(const struct debt *debt)
{
    count_in(&debts.all, debt);
    if (debt->grant.charge.count != 0)
        count_in(&debts.in_quotas, debt);
}

static void uncount(const struct debt *debt)
{
    debts.all.sum -= debt->grant.utilization;
    debts.in_quotas.sum -= debt->grant.charge.count == 0 ? 0 : debt->grant.utilization;
}

static void enter(struct debt *debt)
{
    ledger_add(&debt->grant);
    (void)plugin_schedule(debt->grant.plugin, debt->task, &debt->grant);
    tell_neighbours(debt->task, NULL, &debt->grant);
    count(debt);
    HASH_ADD(hh, debts.by_task, task, sizeof debt->task, debt);
}

static void debt_end(struct debt *debt);

static void debt_give_back(struct timer *timer)
{
    debt_end(container_of(timer, struct debt, paid_back));
}

uint64_t debt_keep(const struct reservation *reservation, struct grant *given_up,
                   const struct grant *kept)
{
    uint64_t runtime = debt_applies(given_up) && reservation->zero_lag > monotonic_now()
                           ? given_up_runtime(given_up, kept)
                           : 0;
    if (runtime == 0)
        return 0;
    struct debt *debt = allocate(sizeof *debt);
    debt->task = task_new();
    debt->paid_back.due = debt_give_back;
    timer_set(&debt->paid_back, by_tick(reservation->zero_lag));
    debt->open = true;
    debt->holder.task = reservation->task;
    debt->holder.plugin = given_up->plugin;
    debt->holder.cpus = given_up->plan.cpus;
    debt->grant = *given_up;
    debt->grant.spec = spec_copy(&given_up->spec);
    debt->grant.holdings = NULL; /* only CPU time has debts */
    debt->grant.background = 0;
    debt->grant.plan.runtime = debt->grant.spec.runtime = runtime;
    debt->grant.spec.desired_runtime = debt->grant.spec.blocking = 0;
    debt->grant.plan.period = debt->grant.spec.period = period_of(given_up);
    debt->grant.utilization = cpu_utilization(&debt->grant);
    debt->rate = rate_of(&debt->grant);
    debt->density = acl_weight(&debt->grant.spec, runtime);
    charge_debt(debt, given_up, kept);
    enter(debt);
    return debt->task;
}

static struct debt *debt_find(uint64_t task)
{
    struct debt *debt;
    HASH_FIND(hh, debts.by_task, &task, sizeof task, debt);
    return debt;
}

/* Returns the record to which further debts of this holder are added; NULL: there is no such
 * record. A record that the plugin has moved to another CPU takes no further debts. */
static struct debt *record_of(const struct held_by *holder)
{
    struct debt *debt;
    HASH_FIND(hh_holder, debts.by_holder, holder, sizeof *holder, debt);
    return debt;
}

static void unlink_holder(struct debt *debt)
{
    if (record_of(&debt->holder) == debt)
        HASH_DELETE(hh_holder, debts.by_holder, debt);
}

static void debt_end(struct debt *debt)
{
    ledger_remove(&debt->grant);
    uncount(debt);
    acl_release(&debt->grant.charge);
    (void)plugin_release(debt->grant.plugin, debt->task);
    tell_neighbours(debt->task, &debt->grant, NULL);
    timer_end(&debt->paid_back);
    HASH_DEL(debts.by_task, debt);
    unlink_holder(debt);
    spec_free(&debt->grant.spec);
    free(debt);
}

/* Adds `more` to `sum`, which stays one task. The rate (runtime / period) of the task is the sum of
 * the parts' rates, and its density (runtime / deadline) is the sum of the parts' densities,
 * because a plugin counts either rates or densities. If the parts have the same period and
 * deadline, their runtimes are added. Otherwise the task has the shortest period of the parts: the
 * task only has to hold the capacity until it is paid back, and a shorter period holds the capacity
 * more evenly. */
static void add_times(struct debt *sum, const struct debt *more)
{
    struct grant *grant = &sum->grant;
    const struct attributes *plan = &more->grant.plan;
    sum->rate += more->rate;
    sum->density += more->density;
    sum->mixed |=
        more->mixed || plan->period != grant->plan.period || plan->deadline != grant->plan.deadline;
    if (!sum->mixed) {
        grant->plan.runtime += plan->runtime;
    } else {
        uint64_t period = plan->period < grant->plan.period ? plan->period : grant->plan.period;
        uint64_t runtime =
            (uint64_t)(((unsigned __int128)sum->rate * period + ONE_CPU - 1) / ONE_CPU);
        uint64_t deadline = (uint64_t)((unsigned __int128)runtime * ONE_CPU / sum->density);
        deadline = deadline > period ? period : deadline == 0 ? 1 : deadline;
        grant->plan.runtime = runtime;
        grant->plan.period = grant->spec.period = period;
        grant->plan.deadline = grant->spec.deadline = deadline;
    }
    grant->spec.runtime = grant->plan.runtime;
    bool by_rate = cpu_window(grant) != spec_window(&grant->spec);
    /* For a mixed record, the plan's runtime is rounded up to a whole microsecond. With a short
     * period, a utilization computed from this runtime would be more than was granted. */
    grant->utilization = !sum->mixed ? cpu_utilization(grant) : by_rate ? sum->rate : sum->density;
}

/* Adds `more` to the record. The record holds all its capacity until all parts are paid back. */
static void debt_join(struct debt *record, struct debt *more)
{
    struct grant before = record->grant;
    uncount(record);
    uncount(more);
    if (more->paid_back.at > record->paid_back.at)
        timer_set(&record->paid_back, more->paid_back.at);
    add_times(record, more);
    acl_join(&record->grant.charge, &more->grant.charge);
    count(record);
    count(more); /* debt_end(more), which is called below, subtracts `more` from the count */
    ledger_add(&record->grant);
    ledger_remove(&before);
    (void)plugin_schedule(record->grant.plugin, record->task, &record->grant);
    tell_neighbours(record->task, &before, &record->grant);
    debt_end(more);
}

void debt_settle(uint64_t task)
{
    struct debt *debt = debt_find(task), *record;
    if (debt == NULL || !debt->open)
        return;
    debt->open = false;
    debt->holder.cpus = debt->grant.plan.cpus;
    record = record_of(&debt->holder);
    if (record != NULL && CPU_EQUAL(&record->grant.plan.cpus, &debt->grant.plan.cpus)) {
        debt_join(record, debt);
        return;
    }
    if (record != NULL) /* the plugin has moved the record to another CPU */
        unlink_holder(record);
    HASH_ADD(hh_holder, debts.by_holder, holder, sizeof debt->holder, debt);
}

void debt_drop(uint64_t task)
{
    struct debt *debt = debt_find(task);
    if (debt != NULL && debt->open)
        debt_end(debt);
}

void debt_feed(int plugin)
{
    for (const struct debt *debt = debts.by_task; debt != NULL; debt = debt->hh.next)
        feed_one(plugin, debt->task, &debt->grant);
}

struct grant *debt_grant(uint64_t task)
{
    struct debt *debt = debt_find(task);
    return debt == NULL ? NULL : &debt->grant;
}

void debt_uncharge(void)
{
    for (struct debt *debt = debts.by_task; debt != NULL; debt = debt->hh.next) {
        free(debt->grant.charge.parts);
        debt->grant.charge = (struct charge){0};
    }
    debts.in_quotas = (struct owed){0};
}

uint64_t debt_sum(bool by_quota)
{
    return by_quota ? debts.in_quotas.sum : debts.all.sum;
}

int64_t debt_last(bool by_quota)
{
    return by_quota ? debts.in_quotas.last : debts.all.last;
}

/* A debt, and when it is paid back. */
struct end {
    int64_t at;
    uint64_t utilization;
};

static int by_time(const void *one, const void *other)
{
    const int64_t a = ((const struct end *)one)->at, b = ((const struct end *)other)->at;
    return (a > b) - (a < b);
}

static size_t ends_of(bool by_quota, struct end *ends)
{
    size_t count = 0;
    for (const struct debt *debt = debts.by_task; debt != NULL; debt = debt->hh.next)
        if (!by_quota || debt->grant.charge.count != 0)
            ends[count++] = (struct end){debt->paid_back.at, debt->grant.utilization};
    return count;
}

int64_t debt_enough(bool by_quota, uint64_t utilization)
{
    enum { MOST = 1024 }; /* a refusal looks at no more debts */
    uint64_t sum = 0;
    size_t i = 0;
    if (debt_count() > MOST)
        return debt_last(by_quota);
    struct end *ends = allocate(MOST * sizeof *ends);
    const size_t count = ends_of(by_quota, ends);
    qsort(ends, count, sizeof *ends, by_time);
    while (i < count && (sum += ends[i].utilization) < utilization)
        i++;
    const int64_t at = i < count ? ends[i].at : debt_last(by_quota);
    free(ends);
    return at;
}

static uint64_t charged_to(const struct debt *debt, const struct counter *counter)
{
    for (int i = 0; i < debt->grant.charge.count; i++)
        if (debt->grant.charge.parts[i].counter == counter)
            return debt->grant.charge.parts[i].amount;
    return 0;
}

uint64_t debt_share(const struct counter *counter, int plugin, int64_t *until)
{
    uint64_t sum = 0;
    *until = 0;
    for (const struct debt *debt = debts.by_task; debt != NULL; debt = debt->hh.next) {
        const uint64_t part = counter != NULL                ? charged_to(debt, counter)
                              : debt->grant.plugin == plugin ? debt->grant.utilization
                                                             : 0;
        sum += part;
        *until = part != 0 && debt->paid_back.at > *until ? debt->paid_back.at : *until;
    }
    return sum;
}

unsigned debt_count(void)
{
    return HASH_COUNT(debts.by_task);
}

void debt_each(void (*each)(uint64_t task, const struct grant *grant))
{
    for (const struct debt *debt = debts.by_task; debt != NULL; debt = debt->hh.next)
        each(debt->task, &debt->grant);
}
