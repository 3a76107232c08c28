#include "verdict.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "event.h"
#include "plugins.h"
#include "readers.h"
#include "units.h"

/* Objects stay from one verdict to the next, with their keys and the order of these: to make them anew took a third of the time. */
static bool is_whole;

static json_t *kept(json_t **object)
{
    if (*object == NULL)
        *object = json_object();
    return *object;
}

static void set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(object, key, value) != 0)
        is_whole = false;
}

static json_t *number_or_null(uint64_t number)
{
    return number == 0 ? json_null() : json_integer((json_int_t)number);
}

static json_t *text_or_null(const char *text)
{
    return text[0] == '\0' ? json_null() : json_string(text);
}

/* As `stat -c '%i %.9Z'` prints it: a shell can compare. */
static json_t *stamp_or_null(json_t *object, const struct stamp *stamp)
{
    char changed[SECONDS_TEXT];
    if (stamp->inode == 0)
        return json_null();
    set(object, "inode", json_integer((json_int_t)stamp->inode));
    set(object, "changed", json_string(format_seconds(stamp->changed, changed)));
    return json_incref(object);
}

static json_t *refusal_or_null(const struct refusal *refusal)
{
    if (refusal->by[0] == '\0')
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s}", "by", refusal->by, "rule", text_or_null(refusal->rule), "asked",
                     text_or_null(refusal->asked), "available", text_or_null(refusal->available), "nearest",
                     number_or_null(refusal->nearest), "retry", refusal->never ? "never" : "when-freed");
}

static json_t *replies_list(const struct outcome *outcome)
{
    static const char *const names[] = {"ok", "partial", "no", "restarting"};
    json_t *list = json_array();
    for (int i = 0; i < outcome->reply_count; i++) {
        const struct reply *reply = &outcome->replies[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "plugin", plugin_line(reply->plugin)->name, "answer",
                                              names[reply->answer], "reason", text_or_null(reply->reason)));
    }
    return list;
}

static json_t *grant_or_null(json_t *object, const struct grant *grant)
{
    char cpus[CPU_LIST_TEXT];
    if (grant == NULL)
        return json_null();
    const struct attributes *plan = &grant->plan;
    set(object, "plugin", json_string(plugin_line(grant->plugin)->name));
    set(object, "policy", json_string(policy_name(plan->policy)));
    set(object, "cpus", json_string(format_cpus(&plan->cpus, cpus)));
    set(object, "priority", number_or_null((uint64_t)plan->priority));
    set(object, "runtime", number_or_null(grant->spec.runtime));
    set(object, "desired_runtime", number_or_null(grant->spec.desired_runtime));
    set(object, "accepted_runtime", number_or_null(plan->runtime));
    set(object, "period", number_or_null(plan->period));
    set(object, "deadline", number_or_null(plan->deadline));
    set(object, "utilization", json_integer((json_int_t)grant->utilization));
    return json_incref(object);
}

static json_t *thread_or_null(const struct attachment *attachment)
{
    return attachment == NULL ? json_null() : json_pack("{s:i, s:s}", "tid", (int)attachment->tid, "state", attachment->pending ? "pending" : "attached");
}

/* What each rule says that is for this user and a plugin that may be asked. */
static json_t *rules_list(const struct wish *wish, const struct spec *spec)
{
    json_t *list = json_array();
    for (int i = 0; spec != NULL && i < plugins_count(); i++)
        if (spec->plugin == NULL || strcmp(spec->plugin, plugin_line(i)->name) == 0)
            acl_tell(rules, wish->user->account, i, spec, wish->grant, list);
    return list;
}

/* The last keys, for other verdicts do not have them. */
static void add_dry_run(json_t *verdict, const struct wish *wish, const struct outcome *outcome)
{
    static json_t *would_grant;
    set(verdict, "dry_run", json_true());
    set(verdict, "rules", rules_list(wish, outcome->judged));
    set(verdict, "would_grant", grant_or_null(kept(&would_grant), outcome->would_grant));
}

static void drop_dry_run(json_t *verdict)
{
    if (json_object_del(verdict, "dry_run") != 0)
        return;
    (void)json_object_del(verdict, "rules");
    (void)json_object_del(verdict, "would_grant");
}

static json_t *filled(const struct wish *wish, const struct outcome *outcome)
{
    static json_t *verdict, *spec, *tid, *grant;
    char now[40];
    is_whole = true;
    set(kept(&verdict), "request", json_string(kind_name(outcome->kind)));
    set(verdict, "token", wish->token == NULL ? json_null() : json_string(wish->token));
    set(verdict, "spec", stamp_or_null(kept(&spec), &wish->judged));
    set(verdict, "tid", stamp_or_null(kept(&tid), &wish->judged_tid));
    set(verdict, "result", json_string(result_name(outcome->result)));
    set(verdict, "reason", json_string(outcome->reason));
    set(verdict, "refusal", refusal_or_null(&outcome->refusal));
    set(verdict, "replies", replies_list(outcome));
    set(verdict, "grant", grant_or_null(kept(&grant), wish->grant));
    set(verdict, "thread", thread_or_null(wish->attachment));
    set(verdict, "time", json_string(format_now(now)));
    if (outcome->dry_run)
        add_dry_run(verdict, wish, outcome);
    else
        drop_dry_run(verdict);
    return is_whole ? verdict : NULL;
}

static bool verdict_write(const struct wish *wish, const struct outcome *outcome, bool answers, bool more)
{
    size_t length;
    const char *text = json_as_line(filled(wish, outcome), &length);
    if (text == NULL) {
        errno = ENOMEM;
        return false;
    }
    const struct told_verdict told = {text, length - 1, wish->decided, kind_name(outcome->kind), answers, more}; /* without the newline */
    reader_verdict(wish->user, wish->name, &told);
    return true;
}

void verdict_tell(struct wish *wish, const struct outcome *outcome, int64_t microseconds, bool answers, bool more)
{
    bool written = verdict_write(wish, outcome, answers, more);
    int error = errno;
    struct event event = {.stage = "verdict", .user = wish->user, .name = wish->name, .request = kind_name(outcome->kind),
                          .decision = outcome->result == RESULT_OK ? "ok" : "refused", .reason = outcome->reason,
                          .plugin = wish->grant == NULL ? NULL : plugin_line(wish->grant->plugin)->name,
                          .tid = wish->attachment == NULL ? 0 : wish->attachment->tid,
                          .token = wish->token, .microseconds = microseconds};
    event_write(&event);
    if (written)
        return;
    event.decision = "error";
    event.reason = strerror(error);
    event_write(&event);
}

void verdict_again(struct wish *wish, enum kind kind, const char *reason)
{
    struct outcome outcome = {.kind = kind};
    snprintf(outcome.reason, sizeof outcome.reason, "%s", reason);
    verdict_tell(wish, &outcome, -1, false, false);
}
