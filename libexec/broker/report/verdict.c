#include "verdict.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "attachments.h"
#include "background.h"
#include "event.h"
#include "grants.h"
#include "plugins.h"
#include "readers.h"
#include "refusal-sentence.h"
#include "resource-cpu.h"
#include "spec.h"
#include "units.h"

/* The JSON objects of a verdict. Each verdict uses the objects of the last verdict again, with
 * their keys in the same order, because making new objects took a third of the time for a
 * verdict. */
static struct {
    json_t *verdict, *spec, *tid, *grant, *would_grant;
    bool is_whole; /* false: memory was missing for a value of the verdict */
} kept_objects;

static json_t *kept(json_t **object)
{
    if (*object == NULL)
        *object = json_object();
    return *object;
}

static void set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(object, key, value) != 0)
        kept_objects.is_whole = false;
}

static json_t *number_or_null(uint64_t number)
{
    return number == 0 ? json_null() : json_integer((json_int_t)number);
}

static json_t *text_or_null(const char *text)
{
    return text[0] == '\0' ? json_null() : json_string(text);
}

static json_t *word_or_null(const char *word)
{
    return word == NULL ? json_null() : json_string(word);
}

/* Writes inode and change time in the form of `stat -c '%i %.9Z'`, so that a shell script can
 * compare them with a file. */
static json_t *stamp_or_null(json_t *object, const struct stamp *stamp)
{
    char changed[SECONDS_TEXT];
    if (stamp->inode == 0)
        return json_null();
    set(object, "inode", json_integer((json_int_t)stamp->inode));
    set(object, "changed", json_string(format_seconds(stamp->changed, changed)));
    return json_incref(object);
}

static const char *const codes[] = {
    [WHY_BAD_SPEC] = "bad-spec",
    [WHY_NOT_A_MEMBER] = "not-a-member",
    [WHY_NO_ACCOUNT] = "no-account",
    [WHY_NOT_OPENED] = "not-opened",
    [WHY_BEYOND_RULE] = "beyond-rule",
    [WHY_RULE_USED_UP] = "rule-used-up",
    [WHY_TOO_MANY_SPECS] = "too-many-specs",
    [WHY_NO_PLUGIN] = "no-plugin",
    [WHY_UNSUITABLE] = "unsuitable",
    [WHY_BEHIND] = "behind",
    [WHY_FULL] = "full",
    [WHY_RESTARTING] = "restarting",
    [WHY_NEIGHBOUR] = "neighbour",
    [WHY_NO_GRANT] = "no-grant",
    [WHY_NO_CPU_CLAIM] = "no-cpu-claim",
    [WHY_NO_THREAD] = "no-thread",
    [WHY_NOT_YOURS] = "not-yours",
    [WHY_NO_USER_THREAD] = "kernel-thread",
    [WHY_STALE] = "stale",
    [WHY_ATTACHED_ELSEWHERE] = "attached-elsewhere",
    [WHY_UNCLEAR_THREAD] = "unclear-thread",
    [WHY_STILL_ATTACHED] = "still-attached",
    [WHY_KERNEL] = "kernel",
    [WHY_BROKER_STATE] = "broker-state",
    [WHY_DRAINING] = "draining",
    [WHY_REVOKED] = "revoked",
};

static bool names_no_value(const struct refusal *refusal)
{
    return refusal->nearest == 0 && refusal->nearest_minimum == 0;
}

static json_t *nearest_of(const struct refusal *refusal)
{
    return names_no_value(refusal) ? json_null() : json_string(refusal_nearest_of(refusal));
}

static json_t *nearest_is(const struct refusal *refusal)
{
    return names_no_value(refusal)
               ? json_null()
               : json_string(refusal->nearest_minimum != 0 ? "at-least" : "at-most");
}

static json_t *refusal_or_null(const struct refusal *refusal)
{
    if (refusal->by[0] == '\0')
        return json_null();
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "code",
                     codes[refusal->code], "by", refusal->by, "rule", text_or_null(refusal->rule),
                     "asked", text_or_null(refusal->asked), "available",
                     text_or_null(refusal->available), "nearest", number_or_null(refusal->nearest),
                     "nearest_minimum", number_or_null(refusal->nearest_minimum), "nearest_of",
                     nearest_of(refusal), "nearest_is", nearest_is(refusal), "retry",
                     refusal->never ? "never" : "when-freed");
}

static json_t *sentence_or_null(const struct outcome *outcome)
{
    char text[SENTENCE_BYTES];
    return outcome->result == RESULT_OK ? json_null()
                                        : json_string(refusal_sentence(outcome, text));
}

static json_t *replies_list(const struct outcome *outcome)
{
    static const char *const names[] = {"ok", "partial", "no", "restarting"};
    json_t *list = json_array();
    for (int i = 0; i < outcome->reply_count; i++) {
        const struct reply *reply = &outcome->replies[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "plugin",
                                              plugin_line(reply->plugin)->name, "answer",
                                              names[reply->answer], "reason",
                                              text_or_null(reply->reason)));
    }
    return list;
}

static json_t *claim_of(int plugin)
{
    const struct plugin_line *line = plugin_line(plugin);
    return json_pack("{s:s, s:s}", "resource", resource_name(line->resource), "plugin", line->name);
}

static void set_where(json_t *claim, int plugin)
{
    const char *where = resource_where(plugin_line(plugin)->resource);
    if (where != NULL)
        set(claim, where, json_string(plugin_line(plugin)->where));
}

static json_t *holding_as_claim(const struct holding *holding, bool has_modes)
{
    char accepted[64];
    const struct claim_key *keys = resource_keys(holding->claim.resource);
    json_t *claim = claim_of(holding->plugin);
    for (int i = 0; i < CLAIM_VALUES && keys[i].name != NULL; i++)
        set(claim, keys[i].name,
            number_or_null(i == 0 ? claim_least(&holding->claim) : holding->claim.values[i]));
    snprintf(accepted, sizeof accepted, "accepted_%.40s", keys[0].name);
    set(claim, accepted, number_or_null(holding->claim.values[0]));
    if (has_modes) {
        snprintf(accepted, sizeof accepted, "%.40s_in_mode", keys[0].name);
        set(claim, accepted, number_or_null(claim_in_mode(&holding->claim).values[0]));
    }
    set_where(claim, holding->plugin);
    return claim;
}

static json_t *claims_list(const struct grant *grant)
{
    json_t *list = json_array();
    for (const struct holding *holding = grant->holdings; holding != NULL; holding = holding->next)
        json_array_append_new(list, holding_as_claim(holding, grant->spec.mode != NULL));
    for (int plugin = grant_background(grant); plugin != NO_PLUGIN;
         plugin = grant_background_after(grant, plugin)) {
        json_t *claim = claim_of(plugin);
        set_where(claim, plugin);
        set(claim, "background", json_true());
        json_array_append_new(list, claim);
    }
    return list;
}

/* Only few grants have these keys. They are put last and removed again, so that the other keys of
 * the object, which all verdicts reuse, keep their order. */
static void show_mode(json_t *object, const struct grant *grant)
{
    if (grant->spec.mode == NULL) {
        if (json_object_del(object, "mode") == 0)
            (void)json_object_del(object, "runtime_in_mode");
        return;
    }
    set(object, "mode", json_string(grant->spec.mode->name));
    set(object, "runtime_in_mode", number_or_null(cpu_in_mode(grant).runtime));
}

static void show_extra(json_t *object, const char *key, int64_t value)
{
    if (value != 0)
        set(object, key, json_integer(value));
    else
        (void)json_object_del(object, key);
}

static void show_extras(json_t *object, const struct extras *extras)
{
    show_extra(object, "lock_memory", (int64_t)extras->lock_memory);
    show_extra(object, "cpu_latency", (int64_t)extras->cpu_latency);
    show_extra(object, "nice", extras->nice);
    (void)json_object_del(object, "clamp");
    if (extras->clamp_min == 0 && extras->clamp_max == 0)
        return;
    set(object, "clamp",
        json_pack("{s:o, s:o}", "min",
                  extras->clamp_min == 0 ? json_null() : json_integer(extras->clamp_min - 1), "max",
                  extras->clamp_max == 0 ? json_null() : json_integer(extras->clamp_max - 1)));
}

static void show_flag(json_t *object, const char *key, bool is_stated)
{
    if (is_stated)
        set(object, key, json_true());
    else
        (void)json_object_del(object, key);
}

static json_t *grant_or_null(json_t *object, const struct grant *grant)
{
    if (grant == NULL)
        return json_null();
    cpu_show(object, grant);
    show_extra(object, "blocking", (int64_t)grant->spec.blocking);
    set(object, "expires", number_or_null(grant->spec.expires));
    set(object, "importance", number_or_null((uint64_t)grant->spec.importance));
    set(object, "weight", json_integer(spec_weight(&grant->spec)));
    set(object, "claims", claims_list(grant));
    show_mode(object, grant);
    show_extras(object, &grant->spec.extras);
    show_flag(object, "reclaim", grant->spec.reclaim);
    show_flag(object, "overrun_signal", grant->spec.overrun_signal);
    return json_incref(object);
}

json_t *verdict_grant(const struct grant *grant)
{
    return grant_or_null(kept(&kept_objects.grant), grant);
}

/* The value is null also when the broker stops, because the broker has then detached the thread
 * already. */
static json_t *thread_or_null(const struct attachment *attachment, enum ended ended)
{
    return attachment == NULL || ended == ENDED_BROKER
               ? json_null()
               : json_pack("{s:i, s:s}", "tid", (int)attachment->tid, "state",
                           attachment_is_pending(attachment) ? "pending" : "attached");
}

/* Lists the access rules for this user, for each plugin that may be asked for the CPU time of the
 * spec. */
static json_t *rules_list(const struct reservation *reservation, const struct spec *spec)
{
    json_t *list = json_array();
    for (int i = 0; spec != NULL && spec_claims_cpu(spec) && i < plugins_count(); i++)
        if (plugin_line(i)->resource == RESOURCE_CPU &&
            (spec->plugin == NULL || strcmp(spec->plugin, plugin_line(i)->name) == 0))
            acl_tell(rules, reservation->user->account, i, spec, reservation->grant, list);
    return list;
}

/* Only verdicts of dry runs have these keys. They are put last and removed again, so that the
 * other keys of the object, which all verdicts reuse, keep their order. */
static void add_dry_run(json_t *verdict, const struct reservation *reservation,
                        const struct outcome *outcome)
{
    set(verdict, "dry_run", json_true());
    set(verdict, "rules", rules_list(reservation, outcome->judged));
    set(verdict, "would_grant",
        grant_or_null(kept(&kept_objects.would_grant), outcome->would_grant));
}

static void drop_dry_run(json_t *verdict)
{
    if (json_object_del(verdict, "dry_run") != 0)
        return;
    (void)json_object_del(verdict, "rules");
    (void)json_object_del(verdict, "would_grant");
}

/* False: the verdict must not name the files of the reservation. When the broker stops during a
 * request, the request has no answer, although reservation->judged names its files already. A
 * verdict of a broker that stops has no token either, because this verdict answers no request. With
 * a token, this verdict could pass for the answer to the last request, and the owner may not have
 * read yet that the last request was refused. */
static bool answers_files(const struct reservation *reservation, const struct outcome *outcome)
{
    return outcome->ended != ENDED_BROKER || reservation->request == NULL;
}

static json_t *filled(const struct reservation *reservation, const struct outcome *outcome)
{
    static const struct stamp nothing = {0};
    char now[40];
    json_t *const verdict = kept(&kept_objects.verdict);
    kept_objects.is_whole = true;
    set(verdict, "request", json_string(kind_name(outcome->kind)));
    set(verdict, "token", word_or_null(outcome->ended == ENDED_BROKER ? NULL : reservation->token));
    set(verdict, "spec",
        stamp_or_null(kept(&kept_objects.spec),
                      answers_files(reservation, outcome) ? &reservation->judged : &nothing));
    set(verdict, "tid",
        stamp_or_null(kept(&kept_objects.tid),
                      answers_files(reservation, outcome) ? &reservation->judged_tid : &nothing));
    set(verdict, "result", json_string(result_name(outcome->result)));
    set(verdict, "reason", json_string(outcome->reason));
    set(verdict, "sentence", sentence_or_null(outcome));
    set(verdict, "refusal", refusal_or_null(&outcome->refusal));
    set(verdict, "replies", replies_list(outcome));
    set(verdict, "grant", verdict_grant(reservation->grant));
    set(verdict, "thread", thread_or_null(reservation->attachment, outcome->ended));
    set(verdict, "time", json_string(format_now(now)));
    set(verdict, "ended", word_or_null(ended_name(outcome->ended)));
    if (outcome->dry_run)
        add_dry_run(verdict, reservation, outcome);
    else
        drop_dry_run(verdict);
    return kept_objects.is_whole ? verdict : NULL;
}

static bool verdict_write(const struct reservation *reservation, const struct outcome *outcome,
                          json_t *verdict, bool answers, bool more)
{
    size_t length;
    const char *text = json_as_line(verdict, &length);
    if (text == NULL) {
        errno = ENOMEM;
        return false;
    }
    /* with 0, the next broker sees that this verdict is not about the last decision, and writes
     * another verdict */
    const int64_t decided = outcome->ended == ENDED_BROKER ? 0 : reservation->decided;
    /* length - 1: without the newline */
    const struct told_verdict told = {text,    length - 1, decided, kind_name(outcome->kind),
                                      answers, more};
    reader_verdict(reservation->user, reservation->name, &told);
    return true;
}

void verdict_tell(struct reservation *reservation, const struct outcome *outcome,
                  int64_t microseconds, bool answers, bool more)
{
    json_t *const verdict = filled(reservation, outcome);
    bool written = verdict_write(reservation, outcome, verdict, answers, more);
    int error = errno;
    struct event event = {.stage = "verdict",
                          .user = reservation->user,
                          .name = reservation->name,
                          .request = kind_name(outcome->kind),
                          .decision = outcome->result == RESULT_OK        ? "ok"
                                      : outcome->result == RESULT_WAITING ? "waiting"
                                                                          : "refused",
                          .result = result_name(outcome->result),
                          .code =
                              outcome->refusal.by[0] == '\0' ? NULL : codes[outcome->refusal.code],
                          .reason = outcome->reason,
                          .plugin = grant_plugin_name(reservation->grant),
                          .tid = reservation->attachment == NULL ? 0 : reservation->attachment->tid,
                          .token = reservation->token,
                          .microseconds = microseconds,
                          .ended = outcome->ended,
                          .grant = json_object_get(verdict, "grant")};
    event_write(&event);
    event.decision = "error";
    event.result = event.code = NULL;
    event.reason = strerror(error);
    if (!written)
        event_write(&event);
}

void verdict_laid_down(struct reservation *reservation)
{
    struct outcome outcome = {.kind = UPDATE, .ended = ENDED_BROKER};
    snprintf(
        outcome.reason, sizeof outcome.reason,
        "the broker has stopped; thread %d has its former attributes until the next broker attaches it again",
        (int)reservation->attachment->tid);
    verdict_tell(reservation, &outcome, -1, false, false);
}

void verdict_again(struct reservation *reservation, enum kind kind, const char *reason)
{
    struct outcome outcome = {.kind = kind};
    snprintf(outcome.reason, sizeof outcome.reason, "%s", reason);
    verdict_tell(reservation, &outcome, -1, false, false);
}
