#include "request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "attachments.h"
#include "event.h"
#include "grants.h"
#include "expiry.h"
#include "ledger.h"
#include "memory.h"
#include "names.h"
#include "debts.h"
#include "spec.h"
#include "fair-queue.h"
#include "reservations.h"
#include "wait-queue.h"

static struct {
    TAILQ_HEAD(, request) waiting; /* requests that wait for the turn */
    /* the request that has the turn; NULL: no request has the turn */
    const struct request *serving;
    const struct queue *last_served;
    /* requests that wait for an answer, by the answer's id */
    struct request *by_plugin, *by_helper;
} requests = {.waiting = TAILQ_HEAD_INITIALIZER(requests.waiting)};

enum step_result wait_for_plugin(struct request *request, uint64_t id)
{
    request->answer_id = id;
    HASH_ADD(hh, requests.by_plugin, answer_id, sizeof request->answer_id, request);
    return IN_PROGRESS;
}

enum step_result wait_for_helper(struct request *request, uint64_t id)
{
    request->answer_id = id;
    HASH_ADD(hh, requests.by_helper, answer_id, sizeof request->answer_id, request);
    return IN_PROGRESS;
}

/* ---- turns ---- */

bool turn_take(struct request *request)
{
    if (requests.serving == NULL && TAILQ_EMPTY(&requests.waiting))
        requests.serving = request;
    else if (requests.serving != request)
        TAILQ_INSERT_TAIL(&requests.waiting, request, of_turn);
    return requests.serving == request;
}

bool turn_pass(struct request *request)
{
    return (requests.serving == NULL && TAILQ_EMPTY(&requests.waiting)) || turn_take(request);
}

void turn_end(const struct request *request)
{
    if (requests.serving == request)
        requests.serving = NULL;
}

bool turn_is_due(void)
{
    return requests.serving == NULL && !TAILQ_EMPTY(&requests.waiting);
}

/* Prefers the first request of a user other than the user who had the last turn, so that no user
 * waits behind all requests of one user. If only that user's requests wait, their first one is
 * next. */
struct request *turn_next(void)
{
    if (!turn_is_due())
        return NULL;
    struct request *request = TAILQ_FIRST(&requests.waiting);
    while (request != NULL && request->queue == requests.last_served)
        request = TAILQ_NEXT(request, of_turn);
    if (request == NULL)
        request = TAILQ_FIRST(&requests.waiting);
    TAILQ_REMOVE(&requests.waiting, request, of_turn);
    requests.last_served = request->queue;
    requests.serving = request;
    return request;
}

/* ---- answers that are waited for ---- */

static struct request *request_take(struct request **table, uint64_t id)
{
    struct request *request;
    HASH_FIND(hh, *table, &id, sizeof id, request);
    if (request != NULL) {
        HASH_DEL(*table, request);
        request->answer_id = 0;
    }
    return request;
}

struct request *take_waiting_for_plugin(uint64_t id)
{
    return request_take(&requests.by_plugin, id);
}

struct request *take_waiting_for_helper(uint64_t id)
{
    return request_take(&requests.by_helper, id);
}

bool request_is_detaching(const struct reservation *reservation)
{
    const struct request *request = reservation->request;
    return request != NULL && ((request->step == STEP_DETACH && request->answer_id != 0) ||
                               request->step == STEP_LEAVE);
}

struct request *request_begin(struct reservation *reservation, enum kind kind)
{
    struct request *request = allocate(sizeof *request);
    request->reservation = reservation;
    request->queue = &user_bucket(reservation->user)->queue;
    queue_begin(request->queue);
    request->outcome.kind = kind;
    request->started = monotonic_now();
    request->refusals.no.plugin = -1;
    request->inquiry.removals = ledger_removals();
    reservation->request = request;
    reservation->pending_changes &= ~FILES_CHANGED;
    return request;
}

void request_answer(struct request *request, enum result result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(request->outcome.reason, sizeof request->outcome.reason, format, arguments);
    va_end(arguments);
    request->outcome.result = result;
}

void request_refuse(struct request *request, const char *by, enum why code, bool never)
{
    struct refusal *refusal = &request->outcome.refusal;
    if (refusal->by[0] == '\0')
        snprintf(refusal->by, sizeof refusal->by, "%s", by);
    refusal->code = code;
    refusal->never = never;
}

void request_event(const struct request *request, const char *stage, const char *decision,
                   int plugin, const char *reason)
{
    const struct reservation *reservation = request->reservation;
    /* this refusal gets no event: other users' changes can cause such refusals as often as these
     * users like, and events would fill the log. The owner's verdict says what has changed */
    if (strcmp(decision, "refused") == 0 &&
        (is_asked_again(reservation) || request->spare.trial != TRIAL_NONE))
        return;
    struct event event = {.stage = stage,
                          .user = reservation->user,
                          .name = reservation->name,
                          .request = kind_name(request->outcome.kind),
                          .decision = decision,
                          .reason = reason,
                          .plugin = plugin < 0 ? NULL : plugin_line(plugin)->name,
                          .tid = reservation->attachment == NULL ? 0 : reservation->attachment->tid,
                          .token = reservation->token,
                          .microseconds = (monotonic_now() - request->started) / 1000};
    event_write(&event);
}

/* True: NAME.tid came before the grant. The thread that the file names can be attached now, so the
 * broker looks at the file again. */
static bool asks_for_its_thread_again(const struct request *request)
{
    const struct reservation *reservation = request->reservation;
    return (request->outcome.kind == CREATE || request->outcome.kind == RECOVER) &&
           reservation->grant != NULL && reservation->attachment == NULL;
}

/* Copies the token, because the request still needs it: if the kernel refuses the grant, the
 * request is recorded once more, with the spec's token. */
static void take_token(struct reservation *reservation, const char *token)
{
    free(reservation->token);
    reservation->token = token == NULL ? NULL : strdup(token);
    if (token != NULL && reservation->token == NULL)
        abort(); /* no memory: ends the broker, as the functions of memory.h do */
}

void request_take_token(struct request *request)
{
    take_token(request->reservation, request->spec.token);
}

bool request_is_about_its_file(const struct request *request)
{
    return request->outcome.kind == CREATE || request->outcome.kind == CHANGE ||
           (request->outcome.kind == RECOVER && request->has_spec);
}

/* ns. A spec with "lifetime": "thread" ends with its thread. If the thread could not be attached,
 * the reservation gets a lease of this length. The program that wrote the spec may have died and
 * never remove the spec, so the reservation must end without it. But people need time to read the
 * reason first. */
static const uint64_t time_to_read = UINT64_C(60000000000), microsecond = 1000;

static uint64_t lease_of(const struct request *request)
{
    const struct reservation *reservation = request->reservation;
    if (reservation->waiter != NULL && reservation->grant == NULL)
        return 0; /* a reservation that waits for room holds nothing, so it has no lease yet */
    const uint64_t stated =
        (reservation->grant != NULL ? reservation->grant->spec.expires : request->spec.expires) *
        microsecond;
    if (request->outcome.result != ATTACH_FAIL || !request->spec.lifetime_thread ||
        reservation->grant != NULL || (stated != 0 && stated < time_to_read))
        return stated;
    return request->activation.why_not == TARGET_OUTLIVED ? 1 : time_to_read;
}

bool request_record(struct request *request)
{
    struct reservation *reservation = request->reservation;
    if (request->recorded)
        return true;
    const bool in_vain = request->outcome.result == RESULT_WAITING &&
                         !file_is_another(&request->json, &reservation->judged);
    if (request->json.state != FILE_ABSENT)
        reservation->judged = request->json.stamp;
    if (request->outcome.kind == ATTACH)
        reservation->judged_tid = request->tid.stamp;
    else if (request->outcome.kind == DETACH || asks_for_its_thread_again(request))
        reservation->judged_tid = (struct stamp){0};
    if (request_is_about_its_file(request))
        take_token(reservation, request->spec.token);
    /* a request that the broker itself began renews no lease */
    if (request_is_about_its_file(request) && !in_vain)
        expiry_for(reservation, lease_of(request), request->json.modified,
                   request->outcome.result == RESULT_OK);
    /* a spec beyond --max-specs is not recorded: the owner gets a verdict, and the broker forgets
     * the spec */
    request->recorded =
        reservation->state == RESERVATION_OVER_LIMIT || reservation_record(reservation);
    return request->recorded;
}

/* Releases the claims that the ledger holds for this request and that the broker has not
 * granted. */
static void request_let_go(struct request *request)
{
    for (struct holding *holding = request->inquiry.holdings; holding != NULL;
         holding = holding->next)
        ledger_let_go(holding);
    holdings_free(&request->inquiry.holdings);
}

void request_drop(struct request *request)
{
    request->reservation->request = NULL;
    reservations_go_on(request->reservation->user);
    expiry_go_on(request->reservation);
    queue_end(request->queue);
    turn_end(request);
    debt_settle(request->activation.debt);
    request_let_go(request);
    acl_release(&request->inquiry.hold);
    if (request->inquiry.partial != NULL)
        acl_release(&request->inquiry.partial->charge);
    if (request->activation.target != NULL)
        attachment_bury(request->activation.target);
    grant_free(request->inquiry.partial);
    grant_free(request->activation.old);
    free(request->outcome.replies);
    spec_free(&request->spec);
    free(request);
}

/* Charges again, under new rules, the amounts that the request holds beyond its reservation's
 * grant. The charges of the grant itself are made again with the grant. */
void request_charge_again(struct request *request, struct acl *acl)
{
    const struct account *account = request->reservation->user->account;
    for (struct holding *holding = request->inquiry.holdings; holding != NULL;
         holding = holding->next)
        acl_charge_again(acl, account, holding->plugin, &holding->charge);
    if (request->inquiry.hold.count != 0)
        acl_charge_again(acl, account, request->inquiry.plugin, &request->inquiry.hold);
    if (request->inquiry.partial != NULL)
        acl_charge_again(acl, account, request->inquiry.partial->plugin,
                         &request->inquiry.partial->charge);
}
