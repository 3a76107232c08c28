#include "request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "attachments.h"
#include "event.h"
#include "ledger.h"
#include "memory.h"
#include "names.h"
#include "rest.h"
#include "spec.h"
#include "turns.h"
#include "wishes.h"

static struct request *asked_plugins, *asked_helper;

enum next wait_for_plugin(struct request *request, enum step step, uint64_t id)
{
    request->step = step;
    request->answer_id = id;
    request->waiting = true;
    HASH_ADD(hh, asked_plugins, answer_id, sizeof request->answer_id, request);
    return WAIT;
}

enum next wait_for_helper(struct request *request, enum step step, uint64_t id)
{
    request->step = step;
    request->answer_id = id;
    request->waiting = true;
    HASH_ADD(hh, asked_helper, answer_id, sizeof request->answer_id, request);
    return WAIT;
}

/* ---- turns ---- */

static TAILQ_HEAD(, request) line = TAILQ_HEAD_INITIALIZER(line);
static const struct request *serving;
static const struct line *last_served;

bool turn_take(struct request *request)
{
    if (serving == NULL && TAILQ_EMPTY(&line))
        serving = request;
    else if (serving != request)
        TAILQ_INSERT_TAIL(&line, request, of_turn);
    return serving == request;
}

bool turn_pass(struct request *request)
{
    return (serving == NULL && TAILQ_EMPTY(&line)) || turn_take(request);
}

void turn_end(const struct request *request)
{
    if (serving == request)
        serving = NULL;
}

bool turn_is_due(void)
{
    return serving == NULL && !TAILQ_EMPTY(&line);
}

/* The first of another user than the last one, if there is any: nobody waits behind all that somebody else has piled up. */
struct request *turn_next(void)
{
    if (!turn_is_due())
        return NULL;
    struct request *request = TAILQ_FIRST(&line);
    while (request != NULL && request->line == last_served)
        request = TAILQ_NEXT(request, of_turn);
    if (request == NULL)
        request = TAILQ_FIRST(&line);
    TAILQ_REMOVE(&line, request, of_turn);
    last_served = request->line;
    serving = request;
    return request;
}

/* ---- answers that are waited for ---- */

static struct request *take(struct request **table, uint64_t id)
{
    struct request *request;
    HASH_FIND(hh, *table, &id, sizeof id, request);
    if (request != NULL) {
        HASH_DEL(*table, request);
        request->waiting = false;
    }
    return request;
}

struct request *take_waiting_for_plugin(uint64_t id)
{
    return take(&asked_plugins, id);
}

struct request *take_waiting_for_helper(uint64_t id)
{
    return take(&asked_helper, id);
}

bool is_being_detached(const struct wish *wish)
{
    const struct request *request = wish->request;
    return request != NULL && ((request->waiting && request->step == STEP_DETACH) || (request->step == STEP_REST && request->rested == DETACH_ON));
}

/* For what is larger than 1 KiB malloc(3) tidies up all that is free, each time: 2 us. Mostly there is one request after the other. */
static struct request *spare;

static struct request *request_new(void)
{
    struct request *request = spare;
    if (request == NULL)
        return allocate(sizeof *request);
    spare = NULL;
    *request = (struct request){0};
    return request;
}

static void request_free(struct request *request)
{
    if (spare == NULL)
        spare = request;
    else
        free(request);
}

struct request *request_begin(struct wish *wish, enum kind kind)
{
    struct request *request = request_new();
    request->wish = wish;
    request->line = &user_bucket(wish->user)->line;
    turns_begin(request->line);
    request->outcome.kind = kind;
    request->started = monotonic_now();
    request->plugin = request->no_plugin = -1;
    request->removals = ledger_removals();
    wish->request = request;
    wish->dirty = false;
    return request;
}

void say(struct request *request, enum result result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(request->outcome.reason, sizeof request->outcome.reason, format, arguments);
    va_end(arguments);
    request->outcome.result = result;
}

void blame(struct request *request, const char *by, bool never)
{
    struct refusal *refusal = &request->outcome.refusal;
    if (refusal->by[0] == '\0')
        snprintf(refusal->by, sizeof refusal->by, "%s", by);
    refusal->never = never;
}

void request_event(const struct request *request, const char *stage, const char *decision, int plugin, const char *reason)
{
    const struct wish *wish = request->wish;
    struct event event = {.stage = stage, .user = wish->user, .name = wish->name, .request = kind_name(request->outcome.kind),
                          .decision = decision, .reason = reason, .plugin = plugin < 0 ? NULL : plugin_line(plugin)->name,
                          .tid = wish->attachment == NULL ? 0 : wish->attachment->tid,
                          .token = wish->token,
                          .microseconds = (monotonic_now() - request->started) / 1000};
    event_write(&event);
}

/* A NAME.tid that came before its grant has now something to attach to. */
static bool asks_for_its_thread_again(const struct request *request)
{
    const struct wish *wish = request->wish;
    return (request->outcome.kind == CREATE || request->outcome.kind == RECOVER) && wish->grant != NULL && wish->attachment == NULL;
}

/* The spec keeps its own: where the kernel refuses what was granted, the request is recorded once more. */
static void take_token(struct wish *wish, const char *token)
{
    free(wish->token);
    wish->token = token == NULL ? NULL : strdup(token);
    if (token != NULL && wish->token == NULL)
        abort(); /* as memory.h does */
}

/* From here on a crash finds what has been decided. False: it could not be written down. */
bool request_record(struct request *request)
{
    struct wish *wish = request->wish;
    if (request->recorded)
        return true;
    if (request->json.state != FILE_ABSENT)
        wish->judged = request->json.stamp;
    if (request->outcome.kind == ATTACH)
        wish->judged_tid = request->tid.stamp;
    else if (request->outcome.kind == DETACH || asks_for_its_thread_again(request))
        wish->judged_tid = (struct stamp){0};
    if (request->outcome.kind == CREATE || request->outcome.kind == CHANGE || (request->outcome.kind == RECOVER && request->has_spec))
        take_token(wish, request->spec.token);
    request->recorded = wish->over_limit || wish_record(wish); /* the one over the limit is told, and forgotten */
    return request->recorded;
}

void request_drop(struct request *request)
{
    request->wish->request = NULL;
    turns_end(request->line);
    turn_end(request);
    rest_settle(request->rest);
    acl_release(&request->hold);
    if (request->partial != NULL)
        acl_release(&request->partial->charge);
    if (request->target != NULL)
        attachment_bury(request->target);
    free(request->partial);
    free(request->old);
    free(request->outcome.replies);
    spec_free(&request->spec);
    request_free(request);
}
