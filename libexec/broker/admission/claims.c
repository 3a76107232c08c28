#include "claims.h"

#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "ledger.h"
#include "memory.h"
#include "names.h"
#include "refusals.h"
#include "spare.h"
#include "trial.h"

static const struct charge *charged_already(const struct request *request, int plugin)
{
    const struct grant *grant = request->reservation->grant;
    for (const struct holding *holding = grant == NULL ? NULL : grant->holdings; holding != NULL; holding = holding->next)
        if (holding->plugin == plugin)
            return &holding->charge;
    return NULL;
}

static bool may_be_asked(const struct claim *claim, int plugin)
{
    const struct plugin_line *line = plugin_line(plugin);
    return line->resource == claim->resource && (claim->where[0] == '\0' || strcmp(claim->where, line->where) == 0) && (claim->plugin[0] == '\0' || strcmp(claim->plugin, line->name) == 0);
}

/* Somebody may mend that, and start the broker again. */
static bool is_off(struct request *request)
{
    const char *why = plugin_line(request->plugin)->off;
    if (why[0] != '\0')
        refusal_note_no(request, request->plugin, ANSWER_NO, why, 0, false);
    return why[0] != '\0';
}

static enum next refuse(struct request *request)
{
    if (is_tried(request))
        return trial_fails(request);
    const enum taken taken = refusal_is_final(request) ? TAKEN_NOTHING : spare_take_back(request);
    if (taken == TAKEN_LATER)
        return WAIT;
    if (taken == TAKEN_NOTHING) {
        refusal_say(request, request->claim->resource);
        return ANSWER;
    }
    refusal_clear(request);
    return ASK;
}

/* Without a guarantee no plugin is asked and nothing is held: a line has to be there, and the rules have to let its user in. */
static enum next ask_for_background(struct request *request)
{
    char reason[REASON_BYTES];
    while (++request->plugin < plugins_count()) {
        struct refusal refusal = {0};
        if (!may_be_asked(request->claim, request->plugin) || is_off(request))
            continue;
        if (acl_check_background(rules, request->reservation->user->account, request->plugin, &refusal, reason)) {
            request->background |= UINT64_C(1) << request->plugin;
            request->claim = request->claim->next;
            refusal_clear(request);
            return ASK;
        }
        refusal_keep_denial(request, &refusal, reason);
    }
    refusal_say(request, request->claim->resource);
    return ANSWER;
}

static enum next ask(struct request *request)
{
    trial_tell(request->plugin);
    const uint64_t id = plugin_accept(request->plugin, request->reservation->task, &request->spec, request->ceiling, false);
    trial_tell_back(request->plugin);
    return wait_for_plugin(request, STEP_CLAIM, id);
}

enum next claims_ask(struct request *request)
{
    const struct claim *claim = request->claim;
    char reason[REASON_BYTES];
    if (claim->background)
        return ask_for_background(request);
    if (!turn_take(request))
        return WAIT;
    while (++request->plugin < plugins_count()) {
        struct refusal refusal = {0};
        if (!may_be_asked(claim, request->plugin) || is_off(request))
            continue;
        if (acl_check_claim(rules, request->reservation->user->account, request->plugin, claim, charged_already(request, request->plugin), &request->hold,
                            &request->ceiling, &refusal, reason))
            return ask(request);
        refusal_keep_denial(request, &refusal, reason);
        const uint64_t allowed = claim_within(claim, request->ceiling);
        request->nearest = allowed > request->nearest ? allowed : request->nearest;
    }
    return refuse(request);
}

static enum next turn_down(struct request *request, enum answer answer, const char *reason, uint64_t nearest, bool never)
{
    const uint64_t allowed = claim_within(request->claim, request->ceiling);
    acl_release(&request->hold);
    refusal_note_no(request, request->plugin, answer, reason, nearest < allowed ? nearest : allowed, never);
    return ASK;
}

/* In the order of the claims. */
static void append(struct holding **holdings, struct holding *holding)
{
    while (*holdings != NULL)
        holdings = &(*holdings)->next;
    *holdings = holding;
}

/* A dry run has seen that it could be had, and takes nothing. */
static void hold(struct request *request, struct holding *holding)
{
    if (request->spec.dry_run) {
        ledger_let_go(holding);
        acl_release(&request->hold);
    }
    holding->charge = request->hold;
    request->hold = (struct charge){0};
    append(&request->holdings, holding);
    request->claim = request->claim->next;
    refusal_clear(request);
}

enum next claim_answered(struct request *request, const struct plugin_event *event)
{
    char reason[REASON_BYTES];
    uint64_t left;
    if (event->answer != ANSWER_OK)
        return turn_down(request, event->answer, event->reason, event->nearest, event->never);
    struct holding *holding = allocate(sizeof *holding);
    holding->claim = *request->claim;
    holding->claim.next = NULL;
    holding->plugin = request->plugin;
    if (!ledger_hold(holding, request->reservation->grant, &left, reason)) {
        free(holding);
        return turn_down(request, ANSWER_NO, reason, plugin_within(request->plugin, request->claim, left), plugin_weight(request->plugin, request->claim) > plugin_line(request->plugin)->capacity);
    }
    refusal_add_reply(request, request->plugin, event->answer, event->reason);
    hold(request, holding);
    return ASK;
}
