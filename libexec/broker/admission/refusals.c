#include "refusals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "debts.h"
#include "plugins.h"
#include "units.h"

void refusal_add_reply(struct request *request, int plugin, enum answer answer, const char *reason)
{
    struct outcome *outcome = &request->outcome;
    for (int i = 0; i < outcome->reply_count; i++)
        if (outcome->replies[i].plugin == plugin)
            /* the plugin was asked a second time: drops its first reply and all later replies */
            outcome->reply_count = i;
    outcome->replies =
        reallocarray(outcome->replies, (size_t)outcome->reply_count + 1, sizeof *outcome->replies);
    if (outcome->replies == NULL)
        abort(); /* no memory: ends the broker, as the functions of memory.h do */
    struct reply *reply = &outcome->replies[outcome->reply_count++];
    reply->plugin = plugin;
    reply->answer = answer;
    snprintf(reply->reason, sizeof reply->reason, "%s", reason);
}

/* True: the plugin tests nothing. It only gives each thread the priority that the spec states. */
static bool ranks_only(int plugin)
{
    const struct plugin_line *line = plugin_line(plugin);
    return line->resource == RESOURCE_CPU && !line->deadline && strcmp(line->tests, "none") == 0;
}

/* True: the spec suits this kind of plugin. The refusal of a plugin that does not suit the spec
 * explains less to the owner. */
static bool is_meant_for(const struct request *request, int plugin)
{
    return plugin_line(plugin)->resource != RESOURCE_CPU ||
           ranks_only(plugin) == (request->spec.priority != 0);
}

static bool explains_more(const struct request *request, int plugin, int than)
{
    return is_meant_for(request, plugin) && !is_meant_for(request, than);
}

/* Keeps one refusal for the owner. Prefers a refusal that may become a grant later to a final
 * refusal. */
void refusal_keep_no(struct request *request, int by, enum why code, const char *told,
                     uint64_t nearest, bool never)
{
    struct no *no = &request->refusals.no;
    if (no->plugin < 0 || (no->never && (!never || explains_more(request, by, no->plugin))) ||
        nearest > request->refusals.nearest) {
        no->plugin = by;
        no->never = never;
        no->code = code;
        snprintf(no->reason, sizeof no->reason, "%s", told);
    }
    if (nearest > request->refusals.nearest)
        request->refusals.nearest = nearest;
}

void refusal_note_no(struct request *request, int plugin, enum answer answer, const char *reason,
                     uint64_t nearest, bool never)
{
    char told[REASON_BYTES];
    refusal_add_reply(request, plugin, answer, reason);
    request_event(request, "accept", "refused", plugin, reason);
    snprintf(told, sizeof told, "%s refused: %.400s", plugin_line(plugin)->name, reason);
    refusal_keep_no(request, plugin,
                    answer == ANSWER_RESTARTING ? WHY_RESTARTING
                    : never                     ? WHY_UNSUITABLE
                                                : WHY_FULL,
                    told, nearest, never);
}

void refusal_note_runtime(struct request *request, uint64_t runtime, bool least)
{
    struct refusals *refusals = &request->refusals;
    if (least && (refusals->least_above == 0 || runtime < refusals->least_above))
        refusals->least_above = runtime;
    else if (!least && runtime > request->spec.runtime && runtime > refusals->most_above)
        refusals->most_above = runtime;
    else if (!least && runtime < request->spec.runtime && runtime > refusals->nearest)
        refusals->nearest = runtime;
}

void refusal_keep_denial(struct request *request, const struct refusal *refusal, const char *reason)
{
    const bool was_denied = request->refusals.denial.is_there;
    const bool never =
        refusal->never || (ranks_only(request->inquiry.plugin) && request->spec.priority == 0);
    request_event(request, "acl", "refused", request->inquiry.plugin, reason);
    request->refusals.denial.is_there = true;
    /* the refusal is final only if none of the refusing rules may allow the spec later */
    request->refusals.denial.never = never && (!was_denied || request->refusals.denial.never);
    if (was_denied &&
        !explains_more(request, request->inquiry.plugin, request->refusals.denial.plugin))
        return;
    request->refusals.denial.plugin = request->inquiry.plugin;
    request->refusals.denial.refusal = *refusal;
    snprintf(request->refusals.denial.reason, sizeof request->refusals.denial.reason, "%s", reason);
}

/* True: the verdict gives the refusal of a plugin. False: the verdict gives the refusal of a rule.
 * The refusal of the rule explains more if the plugin never grants such a spec, and if the rule
 * forbids another plugin that suits the spec at least as well. */
static bool is_by_plugin(const struct request *request)
{
    const struct no *no = &request->refusals.no;
    const struct denial *denial = &request->refusals.denial;
    return no->plugin >= 0 &&
           !(denial->is_there && no->never && !explains_more(request, no->plugin, denial->plugin));
}

bool refusal_is_final(const struct request *request)
{
    return (request->refusals.no.plugin < 0 || request->refusals.no.never) &&
           (!request->refusals.denial.is_there || request->refusals.denial.never);
}

static void say_unknown_plugin(struct request *request, const char *wanted, enum resource resource)
{
    char names[300] = "", meant[PLUGIN_NAME_BYTES + 24] = "";
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        const size_t length = strlen(names);
        if (line->resource != resource)
            continue;
        snprintf(names + length, sizeof names - length, "%s%s", length == 0 ? "" : ", ",
                 line->name);
        if (strcasecmp(line->name, wanted) == 0)
            snprintf(meant, sizeof meant, "; did you mean %s?", line->name);
    }
    request_answer(request, SCHEDULE_FAIL, "plugins.conf has no plugin \"%s\" for %s; it has %s%s",
                   wanted, resource_name(resource), names[0] == '\0' ? "none" : names, meant);
}

/* Adds to the refusal which part of the used capacity consists of debts (debts.h), because this
 * part comes free soon. */
static void say_owed(struct request *request, const struct counter *counter, int plugin)
{
    int64_t until;
    char share[UTILIZATION_TEXT];
    const size_t length = strlen(request->outcome.reason);
    const uint64_t owed = debt_share(counter, plugin, &until);
    if (owed != 0)
        snprintf(request->outcome.reason + length, sizeof request->outcome.reason - length,
                 "; %s of the used share belongs to ended reservations, and comes free in %lldms",
                 format_utilization(owed, share),
                 (long long)(until - monotonic_now()) / 1000000 + 1);
}

/* Names the runtime or amount nearest to the one in the spec that would be granted. Different
 * plugins and rules may allow both a smaller and a larger runtime. */
static void name_what_fits(const struct request *request, enum resource resource,
                           struct refusal *refusal)
{
    const struct refusals *refusals = &request->refusals;
    const uint64_t runtime = request->spec.runtime, above = refusals->least_above;
    const bool is_more = resource == RESOURCE_CPU && above != 0 &&
                         (refusals->nearest == 0 || above - runtime <= runtime - refusals->nearest);
    refusal->nearest = is_more ? refusals->most_above : refusals->nearest;
    refusal->nearest_minimum = is_more ? above : 0;
    refusal->of = resource;
}

/* Returns the first refusal of a plugin that tests nothing; NULL: there is none. */
static const struct reply *reply_without_test(const struct request *request)
{
    for (int i = 0; i < request->outcome.reply_count; i++) {
        const struct reply *reply = &request->outcome.replies[i];
        if (reply->answer == ANSWER_NO && ranks_only(reply->plugin))
            return reply;
    }
    return NULL;
}

/* If a plugin that tests refused, the owner also learns why a plugin that tests nothing did not
 * take the spec, because the spec often lacks only a priority. If the plugin that tests nothing
 * refused, the owner also learns of the rule that forbids the plugin that tests. */
static void say_other(struct request *request, int told)
{
    const struct denial *denial = &request->refusals.denial;
    const struct reply *reply = reply_without_test(request);
    char *other = request->outcome.refusal.other;
    if (ranks_only(told) && denial->is_there && !ranks_only(denial->plugin))
        snprintf(other, OTHER_BYTES, "%.*s", OTHER_BYTES - 1, denial->reason);
    else if (!ranks_only(told) && reply != NULL)
        snprintf(other, OTHER_BYTES, "%s, which makes no schedulability test, refused: %s",
                 plugin_line(reply->plugin)->name, reply->reason);
}

void refusal_say(struct request *request, enum resource resource)
{
    struct refusal *refusal = &request->outcome.refusal;
    const char *wanted = resource == RESOURCE_CPU ? request->spec.plugin
                         : request->inquiry.claim->plugin[0] == '\0'
                             ? NULL
                             : request->inquiry.claim->plugin;
    const bool by_plugin = is_by_plugin(request);
    refusal->other[0] = '\0';
    if (by_plugin) {
        request_refuse(request, plugin_line(request->refusals.no.plugin)->name,
                       request->refusals.no.code, refusal_is_final(request));
        request_answer(request, SCHEDULE_FAIL, "%s", request->refusals.no.reason);
        if (resource == RESOURCE_CPU && !request->refusals.no.never)
            say_owed(request, NULL, request->refusals.no.plugin);
    } else if (request->refusals.denial.is_there) {
        *refusal = request->refusals.denial.refusal;
        refusal->never = request->refusals.denial.never;
        request_answer(request, ACL_FAIL, "%s", request->refusals.denial.reason);
        if (resource == RESOURCE_CPU && request->refusals.denial.refusal.counter != NULL)
            say_owed(request, request->refusals.denial.refusal.counter, NO_PLUGIN);
    } else {
        request_refuse(request, "broker", WHY_NO_PLUGIN, true);
        if (wanted == NULL)
            request_answer(request, SCHEDULE_FAIL, "plugins.conf has no plugin for %s",
                           resource_name(resource));
        else
            say_unknown_plugin(request, wanted, resource);
        return;
    }
    if (resource == RESOURCE_CPU)
        say_other(request,
                  by_plugin ? request->refusals.no.plugin : request->refusals.denial.plugin);
    name_what_fits(request, resource, refusal);
}

void refusal_forget_values(struct request *request)
{
    request->refusals.nearest = request->refusals.least_above = request->refusals.most_above = 0;
}

void refusal_clear(struct request *request)
{
    request->inquiry.plugin = 0;
    request->refusals.no.plugin = -1;
    request->refusals.denial.is_there = request->refusals.no.never = false;
    refusal_forget_values(request);
}
