#include "ask-plugins.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accounting.h"
#include "acl.h"
#include "claims.h"
#include "grants.h"
#include "given-extras.h"
#include "guard.h"
#include "ledger.h"
#include "resource-cpu.h"
#include "memory.h"
#include "names.h"
#include "neighbours.h"
#include "least-change.h"
#include "shares.h"
#include "plugins.h"
#include "refusals.h"
#include "debts.h"
#include "side-by-side.h"
#include "zero-lag-wait.h"
#include "spare-capacity.h"
#include "spec.h"
#include "tasks.h"
#include "trial.h"
#include "units.h"

enum { TRIES_MAX = 16 };

/* Notes why the plugin's offer is not taken: a neighbour (neighbours.h) cannot bear the plan, or
 * tasks that the plugin does not know fill the CPU. */
static void note_objection(struct request *request, int plugin)
{
    if (request->hearing.objector == plugin) {
        refusal_note_no(request, plugin, ANSWER_NO, request->hearing.reason, 0, false);
        return;
    }
    refusal_add_reply(request, plugin, request->hearing.objection, request->hearing.reason);
    request_event(request, "accept", "refused", request->hearing.objector, request->hearing.reason);
    const enum why code =
        request->hearing.objection == ANSWER_RESTARTING ? WHY_RESTARTING : WHY_NEIGHBOUR;
    refusal_keep_no(request, request->hearing.objector, code, request->hearing.reason, 0,
                    request->hearing.never);
}

static struct grant *make_grant(const struct request *request, int plugin,
                                const struct attributes *plan)
{
    struct grant *grant = allocate(sizeof *grant);
    grant->plugin = plugin;
    grant->owner = request->reservation->user->uid;
    grant->plan = *plan;
    grant->spec = spec_copy(&request->spec);
    grant->background = request->inquiry.background;
    grant->utilization = cpu_utilization(grant);
    return grant;
}

static bool is_all_background(const struct grant *grant)
{
    return grant->plugin == NO_PLUGIN && grant->holdings == NULL && grant->background != 0;
}

/* Enters the grant into all books. The grant is now in force, unless the kernel later refuses to
 * change the thread. */
static enum step_result commit(struct request *request, struct grant *grant)
{
    if (request->reservation->grant == NULL)
        turn_end(request); /* the change needs no undoing, because there is no former grant */
    grant->holdings = request->inquiry.holdings;
    request->inquiry.holdings = NULL;
    request->activation.old = grant_rebook(request->reservation, grant, &request->activation.debt);
    request_answer(request, RESULT_OK,
                   request->spare.for_more    ? "%s has room for more of the desired amount"
                   : is_all_background(grant) ? "%s admits the spec without a guarantee"
                                              : "%s grants it",
                   grant_plugin_name(grant) == NULL ? "acl.conf" : grant_plugin_name(grant));
    return GRANTED;
}

bool request_roll_back(struct request *request)
{
    struct grant *old = request->activation.old;
    request->activation.old = NULL;
    return grant_roll_back(request->reservation, old, request->activation.debt);
}

/* Plugins that share CPUs with the reservation's plugin know the present grant as load. In a
 * question about a change, this load must not count against the change. So the load is taken away
 * just before the question and told again just after it, because other questions in the same pipe
 * need the load. */
static uint64_t ask_plugins_send(struct request *request, const struct spec *spec, bool may_commit)
{
    const struct reservation *reservation = request->reservation;
    bool aside = reservation->grant != NULL &&
                 plugins_share_cpu(reservation->grant->plugin, request->inquiry.plugin);
    if (aside)
        plugin_load(request->inquiry.plugin, reservation->task, NULL);
    trial_tell(request->inquiry.plugin);
    uint64_t id = plugin_accept(request->inquiry.plugin, reservation->task, reservation->user->uid,
                                spec, request->inquiry.ceiling, may_commit && !spec->dry_run);
    trial_tell_back(request->inquiry.plugin);
    if (aside)
        plugin_load(request->inquiry.plugin, reservation->task, reservation->grant);
    return id;
}

enum step_result ask_plugins_accept(struct request *request)
{
    request->inquiry.probed = 0;
    return wait_for_plugin(request,
                           ask_plugins_send(request, &request->spec, request->inquiry.commit));
}

static struct spec probed_spec(const struct request *request)
{
    struct spec smaller = request->spec;
    smaller.runtime = request->inquiry.probed;
    smaller.desired_runtime = 0;
    return smaller;
}

/* Call this if the rules or a neighbour refuse the spec's runtime but would allow another runtime.
 * Asks whether the plugin would grant this other runtime. A correct plugin needs few such
 * questions. TRIES_MAX bounds the questions to a faulty plugin, because all other requests wait
 * meanwhile. */
enum step_result ask_plugins_probe(struct request *request)
{
    if (is_tried(request) || request->inquiry.probed < request->inquiry.least ||
        request->inquiry.tries++ == TRIES_MAX)
        return SAYS_NO;
    struct spec other = probed_spec(request);
    return wait_for_plugin(request, ask_plugins_send(request, &other, false));
}

/* Has the neighbours judge the offer. The broker takes the offer only if all neighbours agree. */
static enum step_result let_neighbours_judge(struct request *request, struct grant *offer)
{
    request->hearing.offer = offer;
    return OFFERED;
}

static bool planned_priority_passes(const struct request *request, const struct attributes *plan,
                                    struct refusal *refusal, char *reason)
{
    return plan->priority == 0 ||
           acl_priority_passes(rules, request->reservation->user->account, request->inquiry.plugin,
                               plan->priority, refusal, reason);
}

enum step_result ask_plugins_probe_answered(struct request *request,
                                            const struct plugin_event *event)
{
    struct refusal ignored = {0};
    char reason[REASON_BYTES];
    bool offered = event->answer == ANSWER_OK || event->answer == ANSWER_PARTIAL;
    struct spec smaller = probed_spec(request);
    if (!offered)
        return least_change_refused(request, event);
    if (request->inquiry.probed <= request->refusals.nearest ||
        !cpu_plan_keeps_within(&smaller, &event->plan, reason) ||
        !planned_priority_passes(request, &event->plan, &ignored, reason) ||
        !cpu_plan_is_its_own(request->inquiry.plugin, &smaller, request->inquiry.ceiling,
                             &event->plan, reason))
        return SAYS_NO;
    return let_neighbours_judge(request,
                                make_grant(request, request->inquiry.plugin, &event->plan));
}

/* True: the rules allow each priority that the plugin could plan. Then the plugin may accept and
 * schedule in one step, because the broker need not check the planned priority in between. */
static bool any_priority_passes(const struct request *request, const struct plugin_line *line)
{
    struct refusal ignored;
    char reason[REASON_BYTES];
    const struct account *account = request->reservation->user->account;
    return line->deadline || (acl_priority_passes(rules, account, request->inquiry.plugin,
                                                  line->lowest, &ignored, reason) &&
                              acl_priority_passes(rules, account, request->inquiry.plugin,
                                                  line->highest, &ignored, reason));
}

enum step_result ask_plugins_next(struct request *request)
{
    request->inquiry.plugin++;
    return DONE;
}

enum step_result ask_plugins_round(struct request *request)
{
    request->inquiry.plugin = 0;
    request->refusals.no.plugin = -1;
    request->refusals.denial.is_there = request->refusals.no.never = request->inquiry.retried =
        false;
    refusal_forget_values(request);
    request->outcome.reply_count = 0;
    request->inquiry.removals = ledger_removals();
    return DONE;
}

/* True: capacity has come free since the round began, perhaps in a pool whose plugin has refused
 * already. The request must be able to get this capacity, so all plugins are asked again. There are
 * at most ROUNDS rounds, so that a user who reserves and releases all the time cannot delay the
 * refusal for ever. */
enum { ROUNDS = 3 };

static bool something_came_free(struct request *request)
{
    return request->inquiry.removals != ledger_removals() && request->inquiry.rounds++ < ROUNDS;
}

static enum step_result refuse_cpu_time(struct request *request)
{
    if (is_tried(request))
        return trial_fails(request);
    if (!refusal_is_final(request) && something_came_free(request))
        return CAME_FREE;
    const enum taken taken =
        refusal_is_final(request) ? TAKEN_NOTHING : spare_capacity_take_back(request);
    if (taken != TAKEN_NOTHING)
        return taken == TAKEN ? CAME_FREE : MUST_WAIT;
    if (!refusal_is_final(request) && !request->spare.for_more && zero_lag_wait_may_help(request))
        return MUST_WAIT;
    refusal_say(request, RESOURCE_CPU);
    return DECIDED;
}

enum step_result ask_plugins_refuse(struct request *request)
{
    return request->inquiry.claim != NULL ? claims_refuse(request) : refuse_cpu_time(request);
}

/* True: the plugin may be asked now. A plugin that is asked alone needs the turn (turn_take). A
 * plugin that takes turns needs the turn only for a reservation with a grant, whose plan has to be
 * restored if the change fails. */
static bool may_ask(struct request *request)
{
    const struct grant *grant = request->reservation->grant;
    bool in_turn = plugin_takes_turns(request->inquiry.plugin);
    if (plugin_is_asked_alone(request->inquiry.plugin) ||
        (grant != NULL && (in_turn || plugin_takes_turns(grant->plugin))))
        return turn_take(request);
    return !in_turn || turn_pass(request);
}

/* Decides whether the line's plugin may be asked for the spec's runtime, or at least for another
 * runtime. */
static enum step_result judge_line(struct request *request, const struct plugin_line *line)
{
    struct reservation *reservation = request->reservation;
    struct inquiry *inquiry = &request->inquiry;
    const struct grant *const own[2] = {reservation->grant, inquiry->partial};
    struct refusal refusal;
    char reason[REASON_BYTES];
    uint64_t least;
    inquiry->tries = 0;
    inquiry->seeks_least = false;
    if (!cpu_allows_flags(inquiry->plugin, &request->spec, reason)) {
        refusal_note_no(request, inquiry->plugin, ANSWER_NO, reason, 0, true);
        return SAYS_NO;
    }
    const bool enforced = guard_can_enforce(inquiry->plugin, &request->spec, &least, reason);
    if (!enforced)
        refusal_note_no(request, inquiry->plugin, ANSWER_NO, reason, 0, true);
    if (!enforced && least == 0)
        return SAYS_NO;
    const bool passes =
        acl_check(rules, reservation->user->account, inquiry->plugin, line->name, &request->spec,
                  own, &inquiry->hold, &inquiry->least, &inquiry->ceiling, &refusal, reason);
    inquiry->least = least > inquiry->least ? least : inquiry->least;
    if (enforced && passes)
        return CPU_IS_NEXT;
    if (enforced)
        refusal_keep_denial(request, &refusal, reason);
    acl_release(&inquiry->hold);
    return least_change_begin(request);
}

/* Prepares the question for the spec's runtime. */
static void prepare_question(struct request *request, const struct plugin_line *line)
{
    struct inquiry *inquiry = &request->inquiry;
    if (request->spare.most != 0 && request->spare.most < inquiry->ceiling)
        inquiry->ceiling = request->spare.most;
    /* a dry run must take nothing from the sums of rules: other requests may need it */
    if (request->spec.dry_run)
        acl_release(&inquiry->hold);
    /* The plugin must not take a plan into its books before the neighbours have judged the plan. */
    inquiry->commit = any_priority_passes(request, line) && !plugin_may_be_judged(inquiry->plugin);
}

static enum step_result choose_for_cpu(struct request *request)
{
    for (; request->inquiry.plugin < plugins_count(); request->inquiry.plugin++) {
        const struct plugin_line *line = plugin_line(request->inquiry.plugin);
        if (line->resource != RESOURCE_CPU ||
            (request->spec.plugin != NULL && strcmp(request->spec.plugin, line->name) != 0))
            continue;
        if (!may_ask(request))
            return NOT_ITS_TURN;
        const enum step_result judged = judge_line(request, line);
        if (judged == CPU_IS_NEXT)
            prepare_question(request, line);
        if (judged != SAYS_NO)
            return judged;
    }
    request->inquiry.probed = 0;
    request->hearing.offer = request->inquiry.partial;
    return request->inquiry.partial == NULL ? NO_PLUGIN_LEFT : PART_IS_LEFT;
}

static void drop_partial(struct request *request)
{
    if (request->inquiry.partial == NULL)
        return;
    acl_release(&request->inquiry.partial->charge);
    grant_free(request->inquiry.partial);
    request->inquiry.partial = NULL;
}

/* Turns down the offer. Afterwards the books are as before the question. */
static enum step_result ask_plugins_turn_down(struct request *request, struct grant *grant,
                                              bool committed)
{
    if (committed)
        grant_forget_plan(request->reservation, request->inquiry.plugin);
    acl_release(&request->inquiry.hold);
    grant_free(grant);
    return SAYS_NO;
}

/* The plugin offers more than its pools have left. The plugin may have answered before it heard of
 * another plugin's new task on a shared CPU. The plugin knows of this task now, so it is asked
 * again. If the second answer is too much as well, the plugin has broken its protocol. */
static enum step_result ask_plugins_overfull(struct request *request, struct grant *grant,
                                             bool committed, const char *reason)
{
    const enum step_result no = ask_plugins_turn_down(request, grant, committed);
    request_event(request, "ledger", "refused", request->inquiry.plugin, reason);
    if (!request->inquiry.retried) {
        request->inquiry.retried = true;
        return CROSSED;
    }
    if (is_tried(request) || strcmp(plugin_line(request->inquiry.plugin)->tests, "none") == 0) {
        /* the plugin does not add up its tasks, or this is a trial: the answer is no error, and the
         * broker itself keeps to threshold= */
        refusal_note_no(request, request->inquiry.plugin, ANSWER_NO, reason, 0, false);
    } else {
        plugin_fail(request->inquiry.plugin, reason);
        refusal_note_no(request, request->inquiry.plugin, ANSWER_RESTARTING,
                        "the plugin promised more than its CPUs hold", 0, false);
    }
    return no;
}

/* A dry run has passed every test. The neighbours forget the plan that they have judged, so no
 * books have the plan. */
static enum step_result would_schedule(struct request *request)
{
    struct grant *grant = request->inquiry.partial;
    if (grant->plugin != NO_PLUGIN)
        neighbours_forget(request, grant);
    if (is_tried(request) && trial_passes(request)) {
        drop_partial(request);
        return TRIAL_IS_OVER;
    }
    grant->holdings = request->inquiry.holdings;
    request->inquiry.holdings = NULL;
    request->outcome.would_grant = grant;
    request_answer(request, RESULT_OK, "%s would %s; this is a dry run and holds nothing",
                   grant_plugin_name(grant),
                   is_all_background(grant) ? "admit it, without a guarantee" : "grant it");
    return DECIDED;
}

enum step_result ask_plugins_schedule(struct request *request)
{
    const struct grant *grant = request->inquiry.partial;
    if (request->spec.dry_run)
        return would_schedule(request);
    return wait_for_plugin(request,
                           plugin_schedule(grant->plugin, request->reservation->task, grant));
}

/* The plan of the offer has passed every check: takes the offer, or notes it if it is partial. */
static enum step_result take_offer(struct request *request, struct grant *grant, enum answer answer,
                                   bool committed)
{
    grant->charge = request->inquiry.hold;
    request->inquiry.hold = (struct charge){0};
    if (committed)
        return commit(request, grant);
    /* the first partial offer is kept, and later ones are dropped */
    if (answer == ANSWER_PARTIAL && request->inquiry.partial != NULL) {
        acl_release(&grant->charge);
        grant_free(grant);
        return OFFERED_A_PART;
    }
    /* The partial offer is given up for the new offer. Until now the charge of the new offer lacks
     * the part that the partial offer has charged. So the new charge is set to the amount of the
     * whole new offer. */
    if (request->inquiry.partial != NULL)
        acl_settle(&grant->charge, acl_weight(&grant->spec, grant->plan.runtime));
    drop_partial(request);
    request->inquiry.partial = grant;
    return answer == ANSWER_PARTIAL ? OFFERED_A_PART : AGREED;
}

/* ---- what the neighbours said ---- */

static enum step_result probe_judged(struct request *request, struct grant *offer)
{
    neighbours_forget(request, offer);
    grant_free(offer);
    if (request->hearing.objector < 0)
        return least_change_agreed(request);
    return !request->inquiry.seeks_least && request->hearing.bearable > request->refusals.nearest &&
                   request->hearing.bearable < request->inquiry.probed
               ? least_change_at_most(request, request->hearing.bearable)
               : SAYS_NO;
}

static enum step_result objected(struct request *request, struct grant *offer)
{
    int plugin = offer->plugin;
    uint64_t bearable =
        request->hearing.bearable < offer->plan.runtime ? request->hearing.bearable : 0;
    bool partial = offer == request->inquiry.partial;
    neighbours_forget(request, offer);
    /* the neighbours can bear less than the spec desires, but at least its runtime */
    if (!partial && bearable != 0 && bearable >= request->spec.runtime &&
        request->inquiry.tries++ < TRIES_MAX) {
        grant_free(offer);
        request->inquiry.ceiling = bearable;
        return LESS_IS_ENOUGH;
    }
    note_objection(request, plugin);
    /* the request has not kept the offers of the later plugins, so these are asked again */
    if (partial) {
        drop_partial(request);
        request->inquiry.plugin = plugin;
        request->inquiry.ceiling = UINT64_MAX;
    } else
        (void)ask_plugins_turn_down(request, offer, false);
    return bearable == 0 ? SAYS_NO : least_change_at_most(request, bearable);
}

/* The sum of all lines on a CPU would be too large. This is no fault of the plugin: a plugin whose
 * threads run above all other threads need not know of the other threads. Besides, another plugin
 * may have got a task while this plugin answered, so this plugin is asked again, once. */
static enum step_result too_much(struct request *request, struct grant *offer, const char *reason)
{
    bool fresh = offer != request->inquiry.partial && request->inquiry.probed == 0;
    request->hearing.objector = offer->plugin;
    request->hearing.objection = ANSWER_NO;
    request->hearing.bearable = cpu_room(offer, request->reservation->grant);
    snprintf(request->hearing.reason, sizeof request->hearing.reason, "%.250s", reason);
    if (!fresh || request->inquiry.retried)
        return request->inquiry.probed != 0 ? probe_judged(request, offer)
                                            : objected(request, offer);
    request->inquiry.retried = true;
    neighbours_forget(request, offer);
    (void)ask_plugins_turn_down(request, offer, false);
    return CROSSED;
}

static enum step_result decide(struct request *request)
{
    struct grant *offer = request->hearing.offer;
    char reason[REASON_BYTES];
    if (request->hearing.objector < 0 && !ledger_fits(offer, request->reservation->grant, reason))
        return too_much(request, offer, reason);
    if (request->inquiry.probed != 0)
        return probe_judged(request, offer);
    if (request->hearing.objector >= 0)
        return objected(request, offer);
    return offer == request->inquiry.partial ? AGREED
                                             : take_offer(request, offer, ANSWER_OK, false);
}

/* The offer is in no books yet: a plugin does not commit an offer at once if neighbours may judge
 * the offer. */
enum step_result ask_plugins_judge(struct request *request)
{
    return neighbours_ask(request) ? IN_PROGRESS : decide(request);
}

enum step_result ask_plugins_judged(struct request *request, const struct plugin_event *event)
{
    return neighbour_answered(request, event) ? IN_PROGRESS : decide(request);
}

/* Call this when the plugin refuses the spec's runtime. A nearest= that is not below the spec's
 * runtime is ignored, because it need not be the least larger runtime. The plugin tells the least
 * runtime in another value, event->nearest_minimum. */
static enum step_result refused(struct request *request, const struct plugin_event *event)
{
    const struct inquiry *inquiry = &request->inquiry;
    const uint64_t asked = request->spec.runtime;
    uint64_t nearest = event->nearest < inquiry->ceiling ? event->nearest : inquiry->ceiling;
    nearest = nearest < inquiry->least || nearest >= asked ? 0 : nearest;
    refusal_note_no(request, inquiry->plugin, event->answer, event->reason,
                    inquiry->commit ? nearest : 0, event->never);
    const enum step_result no = ask_plugins_turn_down(request, NULL, false);
    if (event->nearest_minimum > asked)
        return least_change_at_least(request, event->nearest_minimum);
    /* asks which priority the plugin plans for `nearest`, because the rules may not allow this
     * priority */
    return inquiry->commit || nearest == 0 ? no : least_change_at_most(request, nearest);
}

enum step_result ask_plugins_accept_answered(struct request *request,
                                             const struct plugin_event *event)
{
    int plugin = request->inquiry.plugin;
    char reason[REASON_BYTES];
    if (event->answer == ANSWER_NO || event->answer == ANSWER_RESTARTING)
        return refused(request, event);
    if (!cpu_plan_is_its_own(plugin, &request->spec, request->inquiry.ceiling, &event->plan,
                             reason)) {
        request_event(request, "ledger", "refused", plugin, reason);
        plugin_fail(plugin, reason);
        refusal_note_no(request, plugin, ANSWER_RESTARTING,
                        "the plugin gave an answer that its protocol does not allow", 0, false);
        return ask_plugins_turn_down(request, NULL, false);
    }
    struct grant *grant = make_grant(request, plugin, &event->plan);
    bool committed =
        request->inquiry.commit && event->answer == ANSWER_OK && !request->spec.dry_run;
    if (!cpu_plan_keeps_within(&request->spec, &event->plan, reason)) {
        refusal_note_no(request, plugin, ANSWER_NO, reason, 0, true);
        return ask_plugins_turn_down(request, grant, committed);
    }
    if (!ledger_fits_line(grant, request->reservation->grant, reason))
        return ask_plugins_overfull(request, grant, committed, reason);
    if (committed && !ledger_fits(grant, request->reservation->grant, reason)) {
        grant_forget_plan(request->reservation, plugin);
        committed = false;
    }
    struct refusal refusal = {0};
    if (!planned_priority_passes(request, &grant->plan, &refusal, reason)) {
        refusal_keep_denial(request, &refusal, reason);
        return ask_plugins_turn_down(request, grant, committed);
    }
    refusal_add_reply(request, plugin, event->answer, event->reason);
    if (event->answer == ANSWER_OK && !committed)
        return let_neighbours_judge(request, grant);
    return take_offer(request, grant, event->answer, committed);
}

enum step_result ask_plugins_scheduled(struct request *request, const struct plugin_event *event)
{
    struct grant *grant = request->inquiry.partial;
    const char *name = plugin_line(grant->plugin)->name;
    char reason[REASON_BYTES];
    bool scheduled = event->answer == ANSWER_OK;
    /* While the neighbours were asked, other grants may have taken the capacity, or the plugin may
     * have ended. */
    if (ledger_fits(grant, request->reservation->grant, reason) && scheduled) {
        request->inquiry.partial = NULL;
        return commit(request, grant);
    }
    if (scheduled)
        grant_forget_plan(request->reservation, grant->plugin);
    neighbours_forget(request, grant);
    request_answer(request, SCHEDULE_FAIL, "%s offered a grant, but %s", name,
                   scheduled ? reason : event->reason);
    request_refuse(request, name, scheduled ? WHY_FULL : WHY_RESTARTING, false);
    drop_partial(request);
    return DECIDED;
}

/* Makes a grant without CPU time. The ledger holds all guaranteed claims, the other claims are
 * admitted, and the spec asks for no CPU time. */
static enum step_result grant_without_cpu(struct request *request)
{
    const struct attachment *attachment = request->reservation->attachment;
    const struct grant left = {.plugin = NO_PLUGIN,
                               .holdings = request->inquiry.holdings,
                               .spec.extras = request->spec.extras,
                               .background = request->inquiry.background};
    if (attachment != NULL &&
        (attachment->scheduled || (!shares_take_thread(&left) && !extras_take_thread(&left)))) {
        request_answer(
            request, SCHEDULE_FAIL,
            "the spec claims no CPU time any more, but thread %d is attached: detach the thread first",
            (int)attachment->tid);
        request_refuse(request, "broker", WHY_STILL_ATTACHED, true);
        return DECIDED;
    }
    struct grant *grant = make_grant(request, NO_PLUGIN, &(struct attributes){0});
    if (!request->spec.dry_run)
        return commit(request, grant);
    request->inquiry.partial = grant;
    return AGREED;
}

enum step_result ask_plugins_choose(struct request *request)
{
    if (request->inquiry.claim != NULL)
        return claims_choose(request);
    return spec_claims_cpu(&request->spec) ? choose_for_cpu(request) : grant_without_cpu(request);
}
