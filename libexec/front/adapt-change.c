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
                     "%s is a program file or has modes: rtf adapt needs a spec with one runtime",
                     name);
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

/* Takes the runtime that the broker would grant, from a refusal. `nearest` is a runtime only if
 * `nearest_of` says so, because it may also be an amount of another resource. */
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

static void set(json_t *spec, const char *key, uint64_t value)
{
    json_object_set_new(spec, key, json_integer((json_int_t)value));
}

static void ask(struct request *request, const char *name, uint64_t runtime, uint64_t period,
                struct adapt_answer *answer)
{
    struct request_spec former = request_read(request, name);
    json_t *spec = json_deep_copy(former.json);
    if (request_thread_has_ended(request, name))
        (void)json_object_del(spec, "attach");
    set(spec, "runtime", runtime);
    if (period != 0) {
        set(spec, "period", period);
        (void)json_object_del(spec, "expires");
    }
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

struct adapt_answer adapt_change(const char *name, uint64_t runtime, uint64_t period,
                                 uint64_t timeout)
{
    struct request request;
    struct adapt_answer answer = {0};
    request_open(&request, command_spool(), timeout, false);
    if (request_connect(&request))
        ask(&request, name, runtime, period, &answer);
    if (!answer.is_granted)
        snprintf(answer.sentence, sizeof answer.sentence, "%s", request.sentence);
    request_close(&request);
    return answer;
}

/* Asks for a new reservation. False: there is a spec of this name already. */
static bool put(struct request *request, const char *name, json_t *spec,
                struct adapt_answer *answer)
{
    *answer = (struct adapt_answer){0};
    request_hold_signals(request);
    const bool is_new = request_put(request, name, spec);
    answer->is_granted = is_new && request_wait(request);
    if (answer->is_granted)
        answer->adapted = take_grant(request->verdict.json);
    else if (is_new) {
        take_refusal(request->verdict.json, answer);
        request_withdraw(request);
    }
    request_let_signals(request);
    return is_new;
}

struct adapt_answer adapt_declare(const char *name, json_t *spec, uint64_t least, uint64_t timeout)
{
    struct request request;
    struct adapt_answer answer = {0};
    const uint64_t runtime = number(spec, "runtime"), period = number(spec, "period");
    bool is_new = true;
    request_open(&request, command_spool(), timeout, true);
    if (request_connect(&request))
        is_new = put(&request, name, spec, &answer);
    const uint64_t offer = answer.nearest_minimum > runtime ? answer.nearest_minimum
                           : answer.nearest >= least        ? answer.nearest
                                                            : 0;
    if (offer > 0) {
        set(spec, "runtime", offer);
        is_new = put(&request, name, spec, &answer);
    }
    if (!answer.is_granted)
        snprintf(answer.sentence, sizeof answer.sentence, "%s", request.sentence);
    request_close(&request);
    return is_new ? answer : adapt_change(name, runtime, period, timeout);
}
