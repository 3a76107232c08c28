#include "spare-capacity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "account.h"
#include "accounting.h"
#include "adjustments.h"
#include "attach.h"
#include "attachments.h"
#include "background.h"
#include "debts.h"
#include "desired-amounts.h"
#include "ledger.h"
#include "lessened-grant.h"
#include "memory.h"
#include "plugin-lines.h"
#include "reservations.h"
#include "resource-cpu.h"
#include "shares.h"
#include "spec.h"
#include "trial.h"
#include "units.h"
#include "verdict.h"
#include "zero-lag-wait.h"

/* ns. between_changes: the least time between two changes of a reservation by sharing out.
 * between_rounds: the least time between two rounds of sharing out. while_it_changes: the time
 * until the broker looks again at a reservation that is being changed */
static const int64_t between_changes = 1000000000, between_rounds = 20000000,
                     while_it_changes = 10000000;

/* ---- lessening a reservation ---- */

static const char taken_back[] =
    "another spec needs the capacity that this reservation had beyond its needs";

/* Makes the kernel follow the lessened grant. The owner's verdict must not report a change before
 * it is made. So if the helper has to change the thread, the verdict waits for the helper's
 * answer. */
static void follow(struct reservation *reservation, bool has_less_time)
{
    shares_follow(reservation);
    if (has_less_time && reservation->attachment != NULL && reservation->attachment->scheduled &&
        !attachment_is_pending(reservation->attachment))
        adjustments_expect(reservation,
                           attach_apply_again(reservation->attachment, reservation->grant),
                           taken_back);
    else
        verdict_again(reservation, UPDATE, taken_back);
}

static void lessen(struct reservation *reservation)
{
    const uint64_t runtime = reservation->grant->plan.runtime;
    grant_lessen(reservation, grant_within_aims(reservation->grant));
    reservation->shared_out = monotonic_now();
    (void)reservation_record(reservation);
    follow(reservation, reservation->grant->plan.runtime < runtime);
}

/* ---- aims ---- */

/* Sets the aims (desired-amounts.h) of the reservation to the amounts that it has now. */
static void aim_at_what_is(struct reservation *reservation)
{
    reservation->grant->aim = reservation->grant->plan.runtime;
    for (struct holding *holding = reservation->grant->holdings; holding != NULL;
         holding = holding->next)
        holding->aim = holding->claim.values[0];
}

static uint64_t within(uint64_t least, uint64_t value, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static void aim(const struct desire *desire)
{
    struct grant *grant = desire->reservation->grant;
    struct holding *holding = desire_holding(desire);
    if (holding == NULL)
        grant->aim = within(grant->spec.runtime, runtime_within(desire->aim, cpu_window(grant)),
                            grant->spec.desired_runtime);
    else
        holding->aim = within(claim_least(&holding->claim),
                              plugin_within(holding->plugin, &holding->claim, desire->aim),
                              claim_desired(&holding->claim));
}

static bool aims_lower(const struct grant *grant)
{
    bool lower = grant->aim < grant->plan.runtime;
    for (const struct holding *holding = grant->holdings; holding != NULL; holding = holding->next)
        lower |= holding->aim < holding->claim.values[0];
    return lower;
}

static bool aims_higher(const struct grant *grant)
{
    bool higher = grant->aim > grant->plan.runtime;
    for (const struct holding *holding = grant->holdings; holding != NULL; holding = holding->next)
        higher |= holding->aim > holding->claim.values[0];
    return higher;
}

/* True: the reservation is in the state RESERVATION_OPEN, has no request, and the broker is not
 * about to ask for more capacity for it. */
static bool is_settled(const struct reservation *reservation)
{
    return reservation->request == NULL && !reservation->raises &&
           reservation->state == RESERVATION_OPEN;
}

/* ---- sharing out ---- */

static struct {
    /* the value of spare_capacity_occasion() when capacity was last shared out; NEVER: capacity has
     * to be shared out again */
    uint64_t at;
    struct timer pause;
} sharing;
enum { NEVER = 0 };

static uint64_t spare_capacity_occasion(void)
{
    return 1 + ledger_additions() + ledger_removals();
}

bool spare_capacity_is_due(void)
{
    return desired_amounts_first() != NULL && sharing.pause.at == 0 &&
           sharing.at != spare_capacity_occasion();
}

void spare_capacity_look_again(void)
{
    sharing.at = NEVER;
}

/* Brings the reservation to its aims. Returns the time when the broker has to look at the
 * reservation again; 0: not known. */
static int64_t spare_capacity_settle(struct reservation *reservation, int64_t now)
{
    if (!aims_lower(reservation->grant) && !aims_higher(reservation->grant))
        return 0;
    if (!is_settled(reservation))
        return now + while_it_changes;
    if (reservation->shared_out != 0 && now < reservation->shared_out + between_changes)
        return reservation->shared_out + between_changes;
    if (aims_lower(reservation->grant))
        lessen(reservation);
    if (aims_higher(reservation->grant)) {
        reservation->shared_out = now;
        reservation->raises = true;
        reservation_queue(reservation);
    }
    return 0;
}

static void set_aims(void)
{
    struct desire *desires;
    for (struct reservation *reservation = desired_amounts_first(); reservation != NULL;
         reservation = TAILQ_NEXT(reservation, of_desires))
        aim_at_what_is(reservation);
    const size_t count = desired_amounts_list(&desires);
    desired_amounts_share_out(desires, count);
    for (size_t i = 0; i < count; i++)
        aim(&desires[i]);
    free(desires);
}

/* Lessens reservations first, because other reservations may get the capacity that becomes free. */
void spare_capacity_share_out(void)
{
    const int64_t now = monotonic_now();
    int64_t again = 0;
    set_aims();
    for (int lower = 1; lower >= 0; lower--)
        for (struct reservation *reservation = desired_amounts_first(); reservation != NULL;
             reservation = TAILQ_NEXT(reservation, of_desires)) {
            if (aims_lower(reservation->grant) != (lower == 1))
                continue;
            const int64_t then = spare_capacity_settle(reservation, now);
            again = then != 0 && (again == 0 || then < again) ? then : again;
        }
    sharing.at = again != 0 ? NEVER : spare_capacity_occasion();
    timer_set(&sharing.pause, again > now + between_rounds ? again : now + between_rounds);
}

/* ---- giving a reservation more ---- */

/* Adds the grant's claims without a guarantee to the list. They do not change. */
static void claim_background(const struct grant *grant, struct claim **claims)
{
    for (int plugin = grant_background(grant); plugin != NO_PLUGIN;
         plugin = grant_background_after(grant, plugin)) {
        struct claim *claim = claims_push(claims, plugin_line(plugin)->resource), *const next =
                                                                                      claim->next;
        *claim = grant_background_claim(plugin);
        claim->next = next;
    }
}

void spare_capacity_ask_for_more(struct request *request)
{
    const struct grant *grant = request->reservation->grant;
    request->spare.for_more = true;
    request->spare.most = grant->aim > grant->plan.runtime ? grant->aim : grant->plan.runtime;
    request->spec = spec_copy(&grant->spec);
    request->spec.plugin =
        grant->plugin == NO_PLUGIN ? NULL : strdup(plugin_line(grant->plugin)->name);
    if (grant->plugin != NO_PLUGIN && request->spec.plugin == NULL)
        abort(); /* no memory: ends the broker, as the functions of memory.h do */
    for (const struct holding *holding = grant->holdings; holding != NULL;
         holding = holding->next) {
        struct claim *claim = claims_push(&request->spec.claims, holding->claim.resource),
                     *const next = claim->next;
        *claim = claim_with(&holding->claim, holding->aim > holding->claim.values[0]
                                                 ? holding->aim
                                                 : holding->claim.values[0]);
        claim->next = next;
        snprintf(claim->plugin, sizeof claim->plugin, "%s", plugin_line(holding->plugin)->name);
    }
    claim_background(grant, &request->spec.claims);
    request->inquiry.claim = request->spec.claims;
}

bool spare_capacity_has_changed(const struct request *request)
{
    const struct grant *now = request->reservation->grant, *before = request->activation.old;
    if (now == NULL || before == NULL)
        return now == NULL;
    bool is_other = now->plan.runtime != before->plan.runtime ||
                    !CPU_EQUAL(&now->plan.cpus, &before->plan.cpus);
    const struct holding *is = now->holdings, *was = before->holdings;
    for (; is != NULL && was != NULL; is = is->next, was = was->next)
        is_other |= is->claim.values[0] != was->claim.values[0];
    return is_other;
}

/* ---- capacity that a need lacks ---- */

struct need {
    const struct request *request;
    const struct desire *desires;
    size_t count;
    const uint64_t *pool; /* the best pool so far */
    /* the broker knows `lacks`, the capacity that is missing in the pool, or in a rule's sum of CPU
     * time */
    bool is_known;
    uint64_t lacks, best;
};

static uint64_t surplus_in(const struct need *need, const uint64_t *pool)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < need->count; i++)
        if (need->desires[i].pool == pool &&
            need->desires[i].reservation != need->request->reservation)
            sum += need->desires[i].now - need->desires[i].least;
    return sum;
}

/* Notes the pool if it would have enough for the need after other reservations give up spare
 * capacity. Of several such pools, the pool with the most capacity left is taken: worst fit. */
static void weigh_pool(struct need *need, const struct pool *pool, uint64_t weight)
{
    const uint64_t left = ledger_left(pool, need->request->reservation->grant),
                   all = left + surplus_in(need, pool->used);
    if (weight > left && weight <= all && all - weight >= need->best) {
        need->pool = pool->used;
        need->lacks = weight - left;
        need->best = all - weight;
    }
}

static bool need_of_claim(const struct pool *pool, const struct grant *grant, void *context)
{
    struct need *need = context;
    (void)grant;
    weigh_pool(need, pool, plugin_weight(pool->plugin, need->request->inquiry.claim));
    return true;
}

static bool need_of_cpu(const struct pool *pool, const struct grant *grant, void *context)
{
    struct need *need = context;
    const struct spec *spec = &need->request->spec;
    struct grant wanted = {.plugin = pool->plugin, .spec = *spec, .plan.runtime = spec->runtime};
    (void)grant;
    if (pool->cpu >= 0 && spec->cpus != NULL && !CPU_ISSET((size_t)pool->cpu, spec->cpus))
        return true;
    wanted.utilization = cpu_utilization(&wanted);
    weigh_pool(need, pool, cpu_weight(&wanted));
    return true;
}

static bool may_serve(const struct request *request, int plugin)
{
    const struct plugin_line *line = plugin_line(plugin);
    const char *wanted = request->inquiry.claim == NULL ? request->spec.plugin
                         : request->inquiry.claim->plugin[0] == '\0'
                             ? NULL
                             : request->inquiry.claim->plugin;
    return line->resource ==
               (request->inquiry.claim == NULL ? RESOURCE_CPU : request->inquiry.claim->resource) &&
           (wanted == NULL || strcmp(wanted, line->name) == 0);
}

static void find_pool(struct need *need)
{
    for (int i = 0; i < plugins_count(); i++)
        if (may_serve(need->request, i))
            (void)resource_kind_of(i)->of_line(i,
                                               need->request->inquiry.claim == NULL ? need_of_cpu
                                                                                    : need_of_claim,
                                               need);
    need->is_known = need->pool != NULL;
}

/* True: a rule refused the request, and no plugin was asked, so no pool is lacking capacity. */
static bool is_denied(const struct request *request)
{
    return request->refusals.denial.is_there && request->refusals.no.plugin < 0;
}

static void find_what_lacks(struct need *need)
{
    const struct request *request = need->request;
    if (!is_denied(request)) {
        find_pool(need);
        return;
    }
    need->lacks = request->refusals.denial.refusal.lacks;
    need->is_known = need->lacks != 0;
}

static bool is_charged_to(const struct charge *charge, const struct counter *counter)
{
    for (int i = 0; i < charge->count; i++)
        if (charge->parts[i].counter == counter)
            return true;
    return false;
}

/* A refusal may name no pool, because the sum of a rule is used up, or because a plugin's admission
 * test that is not a sum has failed. True: the spare capacity of this reservation counts in this
 * sum or test, so taking it back may help. */
static bool may_help(const struct need *need, const struct desire *desire)
{
    const struct request *request = need->request;
    const struct grant *grant = desire->reservation->grant;
    const struct holding *holding = desire_holding(desire);
    if (is_denied(request))
        return request->refusals.denial.refusal.counter != NULL &&
               is_charged_to(holding == NULL ? &grant->charge : &holding->charge,
                             request->refusals.denial.refusal.counter);
    return may_serve(request, holding == NULL ? grant->plugin : holding->plugin);
}

/* Returns how much of its spare capacity the reservation has to give up: at most the lacking
 * amount. If the lacking amount is not known, this is all spare capacity that may help. */
static uint64_t need_part_of(const struct need *need, const struct desire *desire)
{
    const uint64_t surplus = desire->now - desire->least;
    if (desire->reservation == need->request->reservation ||
        (need->pool == NULL ? !may_help(need, desire) : desire->pool != need->pool))
        return 0;
    return need->is_known && need->lacks < surplus ? need->lacks : surplus;
}

static void take_part(const struct desire *desire, uint64_t part)
{
    const struct desire less = {.reservation = desire->reservation,
                                .resource = desire->resource,
                                .aim = desire->now - part};
    aim_at_what_is(desire->reservation);
    aim(&less);
    lessen(desire->reservation);
}

/* Takes spare capacity from the least important reservations first. In the list of desires, the
 * least important reservations of each pool come last. */
static enum taken spare_capacity_take(struct need *need)
{
    enum taken taken = TAKEN_NOTHING;
    for (size_t i = need->count; i-- > 0;) {
        const struct desire *desire = &need->desires[i];
        const uint64_t part = need_part_of(need, desire);
        if (part == 0)
            continue;
        if (!is_settled(desire->reservation)) {
            taken = TAKEN_LATER;
            continue;
        }
        need->lacks -= need->is_known ? part : 0;
        take_part(desire, part);
        taken = taken == TAKEN_LATER ? taken : TAKEN;
    }
    return taken;
}

/* True: reservations have given up CPU time, and may have debts (debts.h). Then the request waits
 * for the last 0-lag time before the broker tries anything else. */
static bool is_to_come_free(const struct request *request)
{
    return request->spare.takes != 0 && !request->wait.patient && debt_count() != 0;
}

/* True: another reservation has spare capacity, and taking it back may help. */
static bool may_be_helped(const struct need *need)
{
    bool may = false;
    for (size_t i = 0; i < need->count && !may; i++)
        may = need_part_of(need, &need->desires[i]) != 0;
    return may;
}

/* True: the broker is asking for more capacity for another reservation. Until the broker has its
 * answer, this capacity counts as used. So the refused request waits until then. */
static bool is_anybody_raised(const struct request *request)
{
    const struct reservation *reservation = desired_amounts_first();
    while (reservation != NULL &&
           (reservation == request->reservation || reservation->request == NULL ||
            !reservation->request->spare.for_more))
        reservation = TAILQ_NEXT(reservation, of_desires);
    return reservation != NULL;
}

/* Begins a trial. If a trial has passed, takes spare capacity back. The trial changes nothing, and
 * shows whether the broker can grant the need after taking capacity back. Another grant that is
 * made after the trial may make the result wrong. So the broker tries and takes back up to TAKES
 * times. */
static enum taken try_or_take(struct need *need, struct request *request)
{
    enum { TAKES = 16 };
    if (!may_be_helped(need))
        return is_anybody_raised(request) ? TAKEN_LATER : TAKEN_NOTHING;
    if (request->spare.trial == TRIAL_NONE)
        return trial_begin(request) ? TAKEN : TAKEN_NOTHING;
    if (request->spare.trial != TRIAL_PASSED || request->spare.takes++ == TAKES)
        return TAKEN_NOTHING;
    return spare_capacity_take(need);
}

enum taken spare_capacity_take_back(struct request *request)
{
    struct desire *desires;
    if (request->spare.for_more || desired_amounts_first() == NULL || is_to_come_free(request))
        return TAKEN_NOTHING;
    struct need need = {.request = request, .count = desired_amounts_list(&desires)};
    desired_amounts_share_out(desires, need.count);
    need.desires = desires;
    find_what_lacks(&need);
    const enum taken taken = try_or_take(&need, request);
    free(desires);
    return taken == TAKEN_LATER && !zero_lag_wait_for_a_moment(request) ? TAKEN_NOTHING : taken;
}
