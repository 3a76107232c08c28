#include "owner.h"

#include "account.h"
#include "acl.h"
#include "event.h"
#include "names.h"
#include "spool.h"
#include "wait-queue.h"

static bool draining;

bool owner_may_have_something(const struct account *account)
{
    return account->uid == 0 || account_has_gid(account, spool.group) ||
           acl_names_uid(rules, account->uid);
}

/* After a change of plugins.conf the broker asks again for what an earlier broker has granted.
 * Draining does not refuse these. */
static bool is_drained_away(const struct request *request)
{
    return draining && request->outcome.kind != RECOVER;
}

void owner_drain(bool begin)
{
    if (begin != draining)
        event_broker(begin ? "warning" : "ok",
                     begin ? "draining: new specs and changes are refused"
                           : "draining is over: new specs and changes are served again");
    draining = begin;
    if (!begin)
        wait_queue_kick();
}

void owner_is_no_member(struct request *request)
{
    request_answer(request, ACL_FAIL,
                   "uid %u is not a member of the spool's group %u, and acl.conf does not name it",
                   request->reservation->user->uid, spool.group);
    request_refuse(request, "access", WHY_NOT_A_MEMBER, true);
}

static enum step_result check_importance(struct request *request)
{
    struct refusal *refusal = &request->outcome.refusal;
    char reason[REASON_BYTES];
    request->outcome.judged = &request->spec;
    request->inquiry.claim = request->spec.claims;
    if (request->spec.importance == 0 ||
        acl_importance_passes(rules, request->reservation->user->account, request->spec.importance,
                              refusal, reason))
        return DONE;
    request_answer(request, ACL_FAIL, "%s", reason);
    request_event(request, "acl", "refused", -1, reason);
    return DECIDED;
}

enum step_result owner_check(struct request *request)
{
    const struct account *account = request->reservation->user->account;
    if (is_drained_away(request)) {
        request_answer(
            request, ACL_FAIL,
            "the administrator is draining this spool (%s/draining exists): new specs and changes are refused",
            spool.path);
        request_refuse(request, "broker", WHY_DRAINING, false);
    } else if (account->state == ACCOUNT_FAILED) {
        request_answer(request, ACL_FAIL, "the account database did not answer for uid %u",
                       account->uid);
        request_refuse(request, "access", WHY_NO_ACCOUNT, false);
    } else if (!owner_may_have_something(account))
        owner_is_no_member(request);
    else
        return check_importance(request);
    return DECIDED;
}

enum step_result owner_look_up(struct request *request)
{
    struct account *account = request->reservation->user->account;
    if (account_ready(account))
        return owner_check(request);
    TAILQ_INSERT_TAIL(&account->waiting, request, of_account);
    return IN_PROGRESS;
}

struct request *owner_next_waiting(struct account *account)
{
    struct request *request = TAILQ_FIRST(&account->waiting);
    if (request != NULL)
        TAILQ_REMOVE(&account->waiting, request, of_account);
    return request;
}
