#include "trial.h"

#include <stdlib.h>

#include "acl.h"
#include "desired-amounts.h"
#include "grants.h"
#include "ledger.h"
#include "lessened-grant.h"
#include "memory.h"
#include "refusals.h"
#include "resource.h"
#include "tasks.h"
#include "trial-cost.h"
#include "zero-lag-wait.h"

/* ---- begin and end of a trial ---- */

bool is_tried(const struct request *request)
{
    return request->spare.trial == TRIAL_RUNS;
}

static void ask_from_here(struct request *request)
{
    refusal_clear(request);
    request->inquiry.retried = false;
}

bool trial_begin(struct request *request)
{
    if (!trial_is_affordable(request->reservation->user->account, desired_amounts_count(),
                             monotonic_now()))
        return false;
    request->spare.trial = TRIAL_RUNS;
    request->spare.tried_from = request->inquiry.claim;
    request->spec.dry_run = true;
    ask_from_here(request);
    return true;
}

/* Frees the holdings that the trial has made. The holdings from before the trial stay. They belong
 * to the guaranteed claims before the refused claim. */
static void forget_holdings(struct request *request)
{
    struct holding **rest = &request->inquiry.holdings;
    for (const struct claim *claim = request->spec.claims;
         claim != request->spare.tried_from && *rest != NULL; claim = claim->next)
        if (!claim->background)
            rest = &(*rest)->next;
    holdings_free(rest);
}

static void trial_end(struct request *request)
{
    request->spec.dry_run = request->outcome.dry_run;
    forget_holdings(request);
    request->inquiry.claim = request->spare.tried_from;
    ask_from_here(request);
}

bool trial_passes(struct request *request)
{
    request->spare.trial = TRIAL_PASSED;
    if (request->outcome.dry_run)
        return false;
    trial_end(request);
    return true;
}

/* True: in the trial, the reservation counts with its needs only. A reservation that is being
 * changed counts in full, because a plugin may know a newer plan of this reservation than the
 * books. */
static bool may_be_lessened(const struct reservation *reservation, const struct request *request)
{
    return reservation != request->reservation && reservation->request == NULL;
}

static bool is_anybody_left_out(const struct request *request)
{
    const struct reservation *reservation = desired_amounts_first();
    while (reservation != NULL &&
           (reservation == request->reservation || may_be_lessened(reservation, request)))
        reservation = TAILQ_NEXT(reservation, of_desires);
    return reservation != NULL;
}

enum step_result trial_fails(struct request *request)
{
    request->spare.trial = TRIAL_FAILED;
    trial_end(request);
    return is_anybody_left_out(request) && zero_lag_wait_for_a_moment(request) ? MUST_WAIT
                                                                               : TRIAL_IS_OVER;
}

void trial_may_begin_again(struct request *request)
{
    if (request->spare.trial == TRIAL_FAILED)
        request->spare.trial = TRIAL_NONE;
}

/* ---- the books during a step of the trial ---- */

struct lessened {
    const struct grant *grant;
    struct grant *least;
    uint64_t task;
};

static struct {
    struct lessened *all;
    size_t count;
} lessened;

static void each_charge(const struct lessened *one,
                        void (*on)(const struct charge *charge, uint64_t amount))
{
    const struct holding *holding = one->grant->holdings, *least = one->least->holdings;
    on(&one->grant->charge, acl_weight(&one->least->spec, one->least->plan.runtime));
    for (; holding != NULL; holding = holding->next, least = least->next)
        on(&holding->charge, claim_amount(&least->claim));
}

void trial_enter(const struct request *request)
{
    if (!is_tried(request))
        return;
    lessened.all = allocate((desired_amounts_count() + 1) * sizeof *lessened.all);
    for (struct reservation *reservation = desired_amounts_first(); reservation != NULL;
         reservation = TAILQ_NEXT(reservation, of_desires)) {
        if (!may_be_lessened(reservation, request))
            continue;
        lessened.all[lessened.count] =
            (struct lessened){reservation->grant, grant_at_least(reservation->grant),
                              reservation->task};
        ledger_as_if(lessened.all[lessened.count].least, lessened.all[lessened.count].grant);
        each_charge(&lessened.all[lessened.count++], acl_set_aside);
    }
}

void trial_leave(void)
{
    while (lessened.count != 0) {
        const struct lessened *one = &lessened.all[--lessened.count];
        each_charge(one, acl_bring_back);
        ledger_as_if(one->grant, one->least);
        grant_free(one->least);
    }
    free(lessened.all);
    lessened.all = NULL;
}

void trial_tell(int plugin)
{
    for (size_t i = 0; i < lessened.count; i++)
        feed_one(plugin, lessened.all[i].task, lessened.all[i].least);
}

void trial_tell_back(int plugin)
{
    for (size_t i = 0; i < lessened.count; i++)
        feed_one(plugin, lessened.all[i].task, lessened.all[i].grant);
}
