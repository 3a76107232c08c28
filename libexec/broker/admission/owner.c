#include "owner.h"

#include <stdio.h>

#include "account.h"
#include "acl.h"
#include "event.h"
#include "names.h"
#include "schedattr.h"
#include "spool.h"
#include "wait-queue.h"

static bool draining;

bool owner_may_have_something(const struct account *account)
{
    return account->uid == 0 || account_has_gid(account, spool.group) ||
           acl_names_uid(rules, account->uid);
}

/* True: the request is refused because of draining. Requests of the kind RECOVER are not refused.
 * The broker makes them for grants of an earlier broker, after a change of plugins.conf. */
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

/* Returns the sum of lock_memory, in bytes, of the user's other specs. Specs whose lock_memory the
 * rules have just allowed count, too. */
static uint64_t locked_by_others(const struct request *request)
{
    const struct account *account = request->reservation->user->account;
    uint64_t sum = 0;
    for (const struct user *user = LIST_FIRST(&account->users); user != NULL;
         user = LIST_NEXT(user, of_account))
        for (const struct reservation *other = user->reservations; other != NULL;
             other = other->hh.next) {
            const struct request *asks = other->request;
            const uint64_t has = other->grant == NULL ? 0 : other->grant->spec.extras.lock_memory,
                           may = asks != NULL && asks->inquiry.extras_pass && !asks->spec.dry_run
                                     ? asks->spec.extras.lock_memory
                                     : 0;
            sum += other == request->reservation ? 0 : has > may ? has : may;
        }
    return sum;
}

/* True: the kernel has utilization clamps. Such a kernel shows a maximum for each thread, 1024 by
 * default. Other kernels show 0. */
static bool kernel_has_clamps(void)
{
    struct kernel_sched_attr attr = {0};
    return sched_getattr_of(0, &attr) == 0 && attr.util_max != 0;
}

static bool refuse_clamp(struct request *request, char *reason)
{
    snprintf(reason, REASON_BYTES,
             "clamp: this kernel has no utilization clamps (CONFIG_UCLAMP_TASK is not set)");
    request_refuse(request, "kernel", WHY_KERNEL, true);
    return false;
}

static bool extras_pass(struct request *request, char *reason)
{
    if ((request->spec.extras.clamp_min != 0 || request->spec.extras.clamp_max != 0) &&
        !kernel_has_clamps())
        return refuse_clamp(request, reason);
    request->inquiry.extras_pass =
        !extras_any(&request->spec.extras) ||
        acl_extras_pass(rules, request->reservation->user->account, &request->spec.extras,
                        request->spec.extras.lock_memory == 0 ? 0 : locked_by_others(request),
                        &request->outcome.refusal, reason);
    return request->inquiry.extras_pass;
}

static enum step_result check_importance_and_extras(struct request *request)
{
    struct refusal *refusal = &request->outcome.refusal;
    char reason[REASON_BYTES];
    request->outcome.judged = &request->spec;
    request->inquiry.claim = request->spec.claims;
    if ((request->spec.importance == 0 ||
         acl_importance_passes(rules, request->reservation->user->account, request->spec.importance,
                               refusal, reason)) &&
        extras_pass(request, reason))
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
        return check_importance_and_extras(request);
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
