#include "adapt-change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "command-line.h"
#include "request/request.h"
#include "needs-rules.h"

static uint64_t number(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static struct adapted take_grant(const json_t *verdict)
{
    const json_t *grant = json_object_get(verdict, "grant");
    return (struct adapted){.thread = (pid_t)number(json_object_get(verdict, "thread"), "tid"),
                            .runtime = number(grant, "accepted_runtime"),
                            .period = number(grant, "period")};
}

struct adapted adapt_read(const char *name, uint64_t timeout)
{
    struct request request;
    request_open(&request, command_spool(), timeout, false);
    struct request_spec spec = request_read(&request, name);
    if (needs_rules_are_in(spec.json) || json_object_get(spec.json, "modes") != NULL)
        command_fail(EX_USAGE,
                     "%s is a program file or has modes: only a spec of one runtime adapts", name);
    request_free_spec(&spec);
    if (!request_connect(&request) || !request_wait_for_files(&request, name)) {
        request_say(&request, name);
        exit(request.status);
    }
    const struct adapted adapted = take_grant(request.verdict.json);
    request_close(&request);
    if (adapted.thread == 0 || adapted.runtime == 0 || adapted.period == 0)
        command_fail(EX_DATAERR, "%s needs a thread, a runtime and a period", name);
    return adapted;
}

/* `nearest` may be an amount of something else, or a lower bound. */
static void take_refusal(const json_t *verdict, struct adapt_answer *answer)
{
    const json_t *refusal = json_object_get(verdict, "refusal");
    const char *of = client_string(refusal, "nearest_of");
    answer->is_refused = json_is_object(refusal);
    if (of == NULL || strcmp(of, "runtime") != 0)
        return;
    answer->nearest = number(refusal, "nearest");
    answer->nearest_minimum = number(refusal, "nearest_minimum");
}

static void ask(struct request *request, const char *name, uint64_t runtime,
                struct adapt_answer *answer)
{
    struct request_spec former = request_read(request, name);
    json_t *spec = json_deep_copy(former.json);
    if (request_thread_has_ended(request, name))
        (void)json_object_del(spec, "attach");
    json_object_set_new(spec, "runtime", json_integer((json_int_t)runtime));
    request_hold_signals(request);
    request_change(request, name, &former, spec);
    answer->is_granted = request_wait(request);
    if (answer->is_granted)
        answer->adapted = take_grant(request->verdict.json);
    else {
        take_refusal(request->verdict.json, answer);
        request_put_back(request, &former);
    }
    request_let_signals(request);
    json_decref(spec);
    request_free_spec(&former);
}

struct adapt_answer adapt_change(const char *name, uint64_t runtime, uint64_t timeout)
{
    struct request request;
    struct adapt_answer answer = {0};
    request_open(&request, command_spool(), timeout, false);
    if (request_connect(&request))
        ask(&request, name, runtime, &answer);
    if (!answer.is_granted)
        snprintf(answer.sentence, sizeof answer.sentence, "%s", request.sentence);
    request_close(&request);
    return answer;
}
