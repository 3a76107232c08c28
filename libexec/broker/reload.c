#include "reload.h"

#include "accounting.h"
#include "acl.h"
#include "debts.h"
#include "directories.h"
#include "grants.h"
#include "names.h"
#include "owner.h"
#include "request.h"
#include "reservations.h"
#include "spool.h"
#include "fair-queue.h"
#include "wait-queue.h"

/* ---- sums ---- */

/* What is charged in full is known from what is granted; of a request that is under way only the part that
 * was held, for the rest is its grant's. */
static void charge_again(struct acl *acl, const struct reservation *reservation)
{
    const struct account *account = reservation->user->account;
    struct request *request = reservation->request;
    if (reservation->grant != NULL) {
        grant_charge(acl, account, reservation->grant);
    }
    for (struct holding *holding = request == NULL ? NULL : request->inquiry.holdings; holding != NULL; holding = holding->next)
        acl_charge_again(acl, account, holding->plugin, &holding->charge);
    if (request != NULL && request->inquiry.hold.count != 0)
        acl_charge_again(acl, account, request->inquiry.plugin, &request->inquiry.hold);
    if (request != NULL && request->inquiry.partial != NULL)
        acl_charge_again(acl, account, request->inquiry.partial->plugin, &request->inquiry.partial->charge);
}

void reload_rules(struct acl *acl)
{
    for (const struct reservation *reservation = reservation_first(); reservation != NULL; reservation = reservation_next(reservation))
        charge_again(acl, reservation);
    debt_uncharge();
    acl_free(rules);
    rules = acl;
    wait_queue_kick();
    acl_report_overdrawn(acl);
    for (const struct user *user = users_first(); user != NULL; user = user->hh.next)
        acl_report_overdrawn_by(acl, user->account);
}

/* ---- owners ---- */

/* A database that does not answer costs nobody what they have. What root has revoked is taken back by that order, which is told of it. */
static void judge_owner(struct account *account)
{
    account->in_doubt = false;
    if (account->state == ACCOUNT_FAILED || owner_may_have_something(account))
        return;
    for (struct user *user = LIST_FIRST(&account->users); user != NULL; user = LIST_NEXT(user, of_account))
        for (struct reservation *reservation = user->reservations; reservation != NULL; reservation = reservation->hh.next)
            if (reservation->grant != NULL && reservation->state != RESERVATION_WITHDRAWN) {
                reservation->state = RESERVATION_REVOKED;
                reservation_queue(reservation);
            }
}

void owner_is_known(struct account *account)
{
    if (account->in_doubt)
        judge_owner(account);
}

void reload_doubt_owners(void)
{
    for (struct user *user = users_first(); user != NULL; user = user->hh.next) {
        user->account->in_doubt = true;
        if (account_ready(user->account))
            judge_owner(user->account);
    }
}
