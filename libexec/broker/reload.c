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

/* ---- the sums of the rules ---- */

static void charge_again(struct acl *acl, const struct reservation *reservation)
{
    if (reservation->grant != NULL)
        grant_charge(acl, reservation->user->account, reservation->grant);
    if (reservation->request != NULL)
        request_charge_again(reservation->request, acl);
}

void reload_rules(struct acl *acl)
{
    for (const struct reservation *reservation = reservation_first(); reservation != NULL;
         reservation = reservation_next(reservation))
        charge_again(acl, reservation);
    debt_uncharge();
    acl_free(rules);
    rules = acl;
    wait_queue_kick();
    acl_report_exceeded(acl);
    for (const struct user *user = users_first(); user != NULL; user = user->hh.next)
        acl_report_exceeded_by(acl, user->account);
}

/* ---- owners ---- */

/* If the account database does not answer, the owner keeps all grants. Reservations that root has
 * revoked are left out: root's order ends them, and rtf revoke waits until they have ended. */
static void judge_owner(struct account *account)
{
    account->in_doubt = false;
    if (account->state == ACCOUNT_FAILED || owner_may_have_something(account))
        return;
    for (struct user *user = LIST_FIRST(&account->users); user != NULL;
         user = LIST_NEXT(user, of_account))
        for (struct reservation *reservation = user->reservations; reservation != NULL;
             reservation = reservation->hh.next)
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
