#include "accounting.h"

#include <stdlib.h>

#include "acl.h"
#include "debts.h"
#include "desired-amounts.h"
#include "grants.h"
#include "ledger.h"
#include "names.h"
#include "plugins.h"
#include "tasks.h"

/* ---- plugins ---- */

static void release_at(int plugin, const struct reservation *reservation)
{
    if (plugin != NO_PLUGIN)
        (void)plugin_release(plugin, reservation->task);
}

static bool accounting_is_of(const struct grant *grant, int plugin)
{
    bool holds = grant != NULL && grant->plugin == plugin;
    for (const struct holding *holding = grant == NULL ? NULL : grant->holdings; holding != NULL;
         holding = holding->next)
        holds |= holding->plugin == plugin;
    return holds;
}

void grant_forget_plan(const struct reservation *reservation, int plugin)
{
    if (accounting_is_of(reservation->grant, plugin))
        feed_one(plugin, reservation->task, reservation->grant);
    else
        release_at(plugin, reservation);
}

static void schedule_holdings(const struct reservation *reservation, const struct grant *grant)
{
    for (const struct holding *holding = grant->holdings; holding != NULL; holding = holding->next)
        (void)plugin_schedule(holding->plugin, reservation->task, grant);
}

static void schedule(const struct reservation *reservation, const struct grant *grant)
{
    if (grant->plugin != NO_PLUGIN)
        (void)plugin_schedule(grant->plugin, reservation->task, grant);
    schedule_holdings(reservation, grant);
}

/* Makes the plugins that have a part of `before`, but no part of `after`, release the task. */
static void release_others(const struct reservation *reservation, const struct grant *before,
                           const struct grant *after)
{
    if (before->plugin != NO_PLUGIN && !accounting_is_of(after, before->plugin))
        release_at(before->plugin, reservation);
    for (const struct holding *holding = before->holdings; holding != NULL; holding = holding->next)
        if (!accounting_is_of(after, holding->plugin))
            release_at(holding->plugin, reservation);
}

/* ---- the access rules' sums ---- */

static void release_charges(struct grant *grant)
{
    acl_release(&grant->charge);
    for (struct holding *holding = grant->holdings; holding != NULL; holding = holding->next)
        acl_release(&holding->charge);
}

static void settle_charges(struct grant *grant)
{
    acl_settle(&grant->charge, acl_weight(&grant->spec, grant->plan.runtime));
    for (struct holding *holding = grant->holdings; holding != NULL; holding = holding->next)
        acl_settle(&holding->charge, claim_amount(&holding->claim));
}

void grant_charge(struct acl *acl, const struct account *account, struct grant *grant)
{
    free(grant->charge.parts);
    grant->charge = (struct charge){0};
    if (grant->plugin != NO_PLUGIN)
        acl_charge(acl, account, grant->plugin, acl_weight(&grant->spec, grant->plan.runtime),
                   &grant->charge);
    for (struct holding *holding = grant->holdings; holding != NULL; holding = holding->next) {
        free(holding->charge.parts);
        acl_charge(acl, account, holding->plugin, claim_amount(&holding->claim), &holding->charge);
    }
}

/* ---- grants in all books ---- */

void grant_book(struct reservation *reservation, struct grant *grant)
{
    grant_charge(rules, reservation->user->account, grant);
    reservation->grant = grant;
    desired_amounts_follow(reservation);
    ledger_add(grant);
    tell_neighbours(reservation->task, NULL, grant);
    schedule(reservation, grant);
}

void grant_unbook(struct reservation *reservation, bool tell_plugin)
{
    struct grant *grant = reservation->grant;
    if (grant == NULL)
        return;
    ledger_remove(grant);
    if (tell_plugin)
        release_others(reservation, grant, NULL);
    tell_neighbours(reservation->task, grant, NULL);
    debt_settle(debt_keep(reservation, grant, NULL));
    acl_release(&grant->charge);
    reservation->grant = NULL;
    desired_amounts_follow(reservation);
    grant_free(grant);
}

struct grant *grant_rebook(struct reservation *reservation, struct grant *grant, uint64_t *debt)
{
    struct grant *old = reservation->grant;
    *debt = 0;
    if (old != NULL) {
        ledger_remove(old);
        release_others(reservation, old, grant);
        if (reservation->attachment != NULL)
            debt_begin(reservation, old);
        *debt = debt_keep(reservation, old, grant);
        release_charges(old);
    }
    reservation->grant = grant;
    desired_amounts_follow(reservation);
    for (struct holding *holding = grant->holdings; holding != NULL; holding = holding->next)
        ledger_let_go(holding);
    ledger_add(grant);
    settle_charges(grant);
    tell_neighbours(reservation->task, old, grant);
    schedule_holdings(reservation, grant);
    return old;
}

void grant_lessen(struct reservation *reservation, struct grant *less)
{
    uint64_t debt;
    grant_charge(rules, reservation->user->account, less);
    struct grant *old = grant_rebook(reservation, less, &debt);
    if (less->plugin != NO_PLUGIN)
        (void)plugin_schedule(less->plugin, reservation->task, less);
    debt_settle(debt);
    grant_free(old);
}

bool grant_roll_back(struct reservation *reservation, struct grant *old, uint64_t debt)
{
    struct grant *refused = reservation->grant;
    char reason[REASON_BYTES];
    ledger_remove(refused);
    release_charges(refused);
    debt_drop(debt);
    bool fits = ledger_fits(old, NULL, reason);
    reservation->grant = fits ? old : NULL;
    desired_amounts_follow(reservation);
    release_others(reservation, refused, reservation->grant);
    if (fits) {
        ledger_add(old);
        grant_charge(rules, reservation->user->account, old);
        schedule(reservation, old);
    }
    tell_neighbours(reservation->task, refused, reservation->grant);
    grant_free(refused);
    if (!fits)
        grant_free(old);
    return fits;
}
