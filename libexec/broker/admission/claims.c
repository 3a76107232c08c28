#include "claims.h"

#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "ledger.h"
#include "memory.h"
#include "names.h"
#include "refusals.h"
#include "spare-capacity.h"
#include "trial.h"

static const struct charge *charged_already(const struct request *request, int plugin)
{
    const struct grant *grant = request->reservation->grant;
    for (const struct holding *holding = grant == NULL ? NULL : grant->holdings; holding != NULL;
         holding = holding->next)
        if (holding->plugin == plugin)
            return &holding->charge;
    return NULL;
}

static bool may_be_asked(const struct claim *claim, int plugin)
{
    const struct plugin_line *line = plugin_line(plugin);
    return line->resource == claim->resource &&
           (claim->where[0] == '\0' || strcmp(claim->where, line->where) == 0) &&
           (claim->plugin[0] == '\0' || strcmp(claim->plugin, line->name) == 0);
}

/* True: the plugin's line of plugins.conf is turned off, because its helper cannot keep promises.
 * The refusal is not final, because root may correct the line and start the broker again. */
static bool is_off(struct request *request)
{
    const char *why = plugin_line(request->inquiry.plugin)->off;
    if (why[0] != '\0')
        refusal_note_no(request, request->inquiry.plugin, ANSWER_NO, why, 0, false);
    return why[0] != '\0';
}

enum step_result claims_refuse(struct request *request)
{
    if (is_tried(request))
        return trial_fails(request);
    const enum taken taken =
        refusal_is_final(request) ? TAKEN_NOTHING : spare_capacity_take_back(request);
    if (taken == TAKEN_LATER)
        return MUST_WAIT;
    if (taken == TAKEN_NOTHING) {
        refusal_say(request, request->inquiry.claim->resource);
        return DECIDED;
    }
    refusal_clear(request);
    return CLAIM_AGAIN;
}

/* Admits a claim without a guarantee. No plugin is asked, and the ledger holds nothing. A line of
 * plugins.conf must have the claimed resource, and the rules must allow the user to use this
 * line. */
static enum step_result let_in(struct request *request)
{
    char reason[REASON_BYTES];
    for (; request->inquiry.plugin < plugins_count(); request->inquiry.plugin++) {
        struct refusal refusal = {0};
        if (!may_be_asked(request->inquiry.claim, request->inquiry.plugin) || is_off(request))
            continue;
        if (acl_check_background(rules, request->reservation->user->account,
                                 request->inquiry.plugin, &refusal, reason)) {
            request->inquiry.background |= UINT64_C(1) << request->inquiry.plugin;
            request->inquiry.claim = request->inquiry.claim->next;
            refusal_clear(request);
            return HELD;
        }
        refusal_keep_denial(request, &refusal, reason);
    }
    refusal_say(request, request->inquiry.claim->resource);
    return DECIDED;
}

enum step_result claims_ask(struct request *request)
{
    trial_tell(request->inquiry.plugin);
    const struct reservation *reservation = request->reservation;
    const uint64_t id =
        plugin_accept(request->inquiry.plugin, reservation->task, reservation->user->uid,
                      &request->spec, request->inquiry.ceiling, false);
    trial_tell_back(request->inquiry.plugin);
    return wait_for_plugin(request, id);
}

enum step_result claims_choose(struct request *request)
{
    struct inquiry *inquiry = &request->inquiry;
    const struct account *account = request->reservation->user->account;
    const struct claim *claim = inquiry->claim;
    char reason[REASON_BYTES];
    if (claim->background)
        return let_in(request);
    if (!turn_take(request))
        return NOT_ITS_TURN;
    for (; inquiry->plugin < plugins_count(); inquiry->plugin++) {
        struct refusal refusal = {0};
        if (!may_be_asked(claim, inquiry->plugin) || is_off(request))
            continue;
        if (acl_check_claim(rules, account, inquiry->plugin, claim,
                            charged_already(request, inquiry->plugin), &inquiry->hold,
                            &inquiry->ceiling, &refusal, reason))
            return CLAIM_IS_NEXT;
        refusal_keep_denial(request, &refusal, reason);
        const uint64_t allowed = claim_within(claim, inquiry->ceiling);
        request->refusals.nearest =
            allowed > request->refusals.nearest ? allowed : request->refusals.nearest;
    }
    return NO_PLUGIN_LEFT;
}

static enum step_result claims_turn_down(struct request *request, enum answer answer,
                                         const char *reason, uint64_t nearest, bool never)
{
    const uint64_t allowed = claim_within(request->inquiry.claim, request->inquiry.ceiling);
    /* a faulty plugin may name a value that is not less */
    const bool is_less = nearest < request->inquiry.claim->values[0];
    acl_release(&request->inquiry.hold);
    refusal_note_no(request, request->inquiry.plugin, answer, reason,
                    !is_less            ? 0
                    : nearest < allowed ? nearest
                                        : allowed,
                    never);
    return SAYS_NO;
}

/* Keeps the holdings in the order of the claims. */
static void claims_append(struct holding **holdings, struct holding *holding)
{
    while (*holdings != NULL)
        holdings = &(*holdings)->next;
    *holdings = holding;
}

/* Keeps the holding in the request. In a dry run the holding has no charge, and the ledger holds
 * nothing for it. */
static void hold(struct request *request, struct holding *holding)
{
    if (request->spec.dry_run) {
        ledger_let_go(holding);
        acl_release(&request->inquiry.hold);
    }
    holding->charge = request->inquiry.hold;
    request->inquiry.hold = (struct charge){0};
    claims_append(&request->inquiry.holdings, holding);
    request->inquiry.claim = request->inquiry.claim->next;
    refusal_clear(request);
}

enum step_result claims_answered(struct request *request, const struct plugin_event *event)
{
    const int plugin = request->inquiry.plugin;
    char reason[REASON_BYTES];
    uint64_t left;
    if (event->answer != ANSWER_OK)
        return claims_turn_down(request, event->answer, event->reason, event->nearest,
                                event->never);
    struct holding *holding = allocate(sizeof *holding);
    holding->claim = *request->inquiry.claim;
    holding->claim.next = NULL;
    holding->plugin = plugin;
    if (!ledger_hold(holding, request->reservation->grant, &left, reason)) {
        free(holding);
        const bool never =
            plugin_weight(plugin, request->inquiry.claim) > plugin_line(plugin)->capacity;
        return claims_turn_down(request, ANSWER_NO, reason,
                                plugin_within(plugin, request->inquiry.claim, left), never);
    }
    refusal_add_reply(request, plugin, event->answer, event->reason);
    hold(request, holding);
    return HELD;
}
