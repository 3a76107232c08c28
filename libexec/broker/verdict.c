#include "verdict.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event.h"
#include "files.h"
#include "plugins.h"
#include "units.h"

static json_t *number_or_null(uint64_t number)
{
    return number == 0 ? json_null() : json_integer((json_int_t)number);
}

static json_t *text_or_null(const char *text)
{
    return text[0] == '\0' ? json_null() : json_string(text);
}

/* As `stat -c '%i %.9Z'` prints it: a shell can compare. */
static json_t *stamp_or_null(const struct stamp *stamp)
{
    char changed[40];
    if (stamp->inode == 0)
        return json_null();
    snprintf(changed, sizeof changed, "%lld.%09lld", (long long)stamp->changed / 1000000000, (long long)stamp->changed % 1000000000);
    return json_pack("{s:I, s:s}", "inode", (json_int_t)stamp->inode, "changed", changed);
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

static json_t *grant_or_null(const struct grant *grant)
{
    char cpus[CPU_LIST_TEXT];
    if (grant == NULL)
        return json_null();
    const struct attributes *plan = &grant->plan;
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "plugin", plugin_line(grant->plugin)->name, "policy",
                     policy_name(plan->policy), "cpus", format_cpus(&plan->cpus, cpus), "priority", number_or_null((uint64_t)plan->priority),
                     "runtime", number_or_null(grant->spec.runtime), "desired_runtime", number_or_null(grant->spec.desired_runtime),
                     "accepted_runtime", number_or_null(plan->runtime), "period", number_or_null(plan->period), "deadline",
                     number_or_null(plan->deadline), "utilization", (json_int_t)grant->utilization);
}

static json_t *thread_or_null(const struct attachment *attachment)
{
    return attachment == NULL ? json_null() : json_pack("{s:i, s:s}", "tid", (int)attachment->tid, "state", attachment->pending ? "pending" : "attached");
}

bool verdict_write(const struct wish *wish, const struct outcome *outcome)
{
    char now[40];
    json_t *verdict = json_pack("{s:s, s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "request", kind_name(outcome->kind), "token",
                                wish->token == NULL ? json_null() : json_string(wish->token), "spec", stamp_or_null(&wish->judged), "tid", stamp_or_null(&wish->judged_tid),
                                "result", result_name(outcome->result), "reason", outcome->reason, "refusal",
                                refusal_or_null(&outcome->refusal), "replies", replies_list(outcome), "grant",
                                grant_or_null(wish->grant), "thread", thread_or_null(wish->attachment), "time", format_now(now));
    size_t length;
    const char *text = json_as_line(verdict, &length);
    json_decref(verdict);
    if (text == NULL) {
        errno = ENOMEM;
        return false;
    }
    return spool_put_verdict(wish->user, wish->name, text, length, wish->decided);
}
