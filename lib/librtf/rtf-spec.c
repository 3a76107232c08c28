#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rtf-own.h"

enum { NAME_TRIES = 1000 };

/* ---- the answer ---- */

static enum rtf_result result_of(const char *word)
{
    static const struct {
        const char *word;
        enum rtf_result result;
    } table[] = {{"OK", RTF_OK},
                 {"SCHEDULE_FAIL", RTF_SCHEDULE_FAIL},
                 {"WAITING", RTF_SCHEDULE_FAIL},
                 {"ACL_FAIL", RTF_ACL_FAIL},
                 {"BAD_SPEC", RTF_BAD_SPEC},
                 {"ATTACH_FAIL", RTF_ATTACH_FAIL}};
    for (size_t i = 0; word != NULL && i < sizeof table / sizeof *table; i++)
        if (strcmp(word, table[i].word) == 0)
            return table[i].result;
    return RTF_ERROR;
}

static uint64_t number(const json_t *object, const char *key)
{
    const json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static void take_text(const json_t *object, const char *key, char *text, size_t size)
{
    const char *value = client_string(object, key);
    snprintf(text, size, "%s", value == NULL ? "" : value);
}

/* Reads the amounts of the grant; with modes, the largest amount of all modes. */
static void take_amounts(struct rtf_spec_own *spec, const json_t *grant)
{
    const json_t *claims = json_object_get(grant, "claims");
    memset(spec->amounts, 0, sizeof spec->amounts);
    spec->amounts[OWN_THREADS - OWN_UNITS] = number(grant, "threads");
    for (size_t i = 0; i < json_array_size(claims); i++) {
        const json_t *claim = json_array_get(claims, i);
        const char *resource = client_string(claim, "resource");
        const int text = resource == NULL ? -1 : own_text_of(resource);
        if (text >= OWN_UNITS && text <= OWN_DISK)
            spec->amounts[text - OWN_UNITS] =
                number(claim, text == OWN_UNITS ? "accepted_count" : "accepted_bytes");
    }
}

static void take_grant(struct rtf_spec_own *spec, const json_t *grant, const json_t *thread)
{
    spec->granted = json_is_object(grant);
    take_text(grant, "mode", spec->mode, sizeof spec->mode);
    spec->runtime_in_mode =
        number(grant, spec->mode[0] == '\0' ? "accepted_runtime" : "runtime_in_mode");
    take_amounts(spec, grant);
    spec->accepted_runtime = number(grant, "accepted_runtime");
    spec->period = number(grant, "period");
    spec->deadline = number(grant, "deadline");
    take_text(grant, "plugin", spec->plugin, sizeof spec->plugin);
    take_text(grant, "policy", spec->policy, sizeof spec->policy);
    take_text(grant, "cpus", spec->cpus, sizeof spec->cpus);
    const char *state = client_string(thread, "state");
    spec->thread = (pid_t)number(thread, "tid");
    spec->attached = state != NULL && strcmp(state, "attached") == 0;
}

static enum rtf_result take_verdict(struct rtf_spec_own *spec, const json_t *verdict)
{
    const json_t *refusal = json_object_get(verdict, "refusal");
    spec->result = result_of(client_string(verdict, "result"));
    take_text(verdict, client_string(verdict, "sentence") != NULL ? "sentence" : "reason",
              spec->reason, sizeof spec->reason);
    take_text(refusal, "code", spec->code, sizeof spec->code);
    spec->nearest = number(refusal, "nearest");
    const json_t *grant = json_object_get(verdict, "grant");
    const bool holds = json_is_object(grant);
    take_grant(spec, holds ? grant : json_object_get(verdict, "would_grant"),
               json_object_get(verdict, "thread"));
    spec->granted = holds;
    take_text(verdict, "time", spec->decided, sizeof spec->decided);
    spec->served = spec->thread != 0;
    return spec->result;
}

/* Drops the unparsed answer. */
static void forget(struct rtf_spec_own *spec)
{
    free(atomic_exchange(&spec->unread, NULL));
}

static void forget_former(struct rtf_spec_own *spec)
{
    free(spec->former);
    spec->former = NULL;
}

/* Parses the answer. Without memory the answer stays unparsed, and the next call tries again. */
static void read_answer(struct rtf_spec_own *spec)
{
    json_t *verdict = client_parse_object(atomic_load(&spec->unread));
    if (verdict == NULL)
        return;
    (void)take_verdict(spec, verdict);
    json_decref(verdict);
    forget(spec);
}

void own_read(struct rtf_spec_own *spec)
{
    pthread_mutex_lock(&spec->lock);
    read_answer(spec);
    pthread_mutex_unlock(&spec->lock);
}

static enum rtf_result say(struct rtf_spec_own *spec, enum rtf_result result, const char *code,
                           const char *reason)
{
    read_answer(spec); /* keeps the grant of that answer */
    spec->result = result;
    spec->nearest = 0;
    snprintf(spec->code, sizeof spec->code, "%s", code);
    snprintf(spec->reason, sizeof spec->reason, "%s", reason);
    return result;
}

static enum rtf_result say_outcome(struct rtf_spec_own *spec, enum client_outcome outcome,
                                   const char *why)
{
    switch (outcome) {
    case CLIENT_NO_BROKER: return say(spec, RTF_CONNECTION_ERR, "no-broker", why);
    case CLIENT_DENIED: return say(spec, RTF_ACL_FAIL, "not-a-member", why);
    case CLIENT_TAKEN: return say(spec, RTF_ERROR, "taken", why);
    case CLIENT_TIMEOUT: return say(spec, RTF_TIMEOUT, "no-answer", why);
    case CLIENT_GONE: return say(spec, RTF_GONE, "gone", why);
    case CLIENT_PENDING: return say(spec, RTF_PENDING, "", "");
    case CLIENT_OK: return say(spec, RTF_OK, "", "");
    case CLIENT_INTERRUPTED:
    case CLIENT_ERROR: break;
    }
    return say(spec, RTF_ERROR, "system", why);
}

static enum rtf_result lose(struct rtf_spec_own *spec, const char *why)
{
    forget(spec);
    take_grant(spec, NULL, NULL);
    spec->inode = 0;
    spec->request = OWN_NOTHING;
    return say(spec, RTF_GONE, "gone", why);
}

static enum rtf_result say_released(struct rtf_spec_own *spec)
{
    forget(spec);
    take_grant(spec, NULL, NULL);
    spec->request = OWN_NOTHING;
    return say(spec, RTF_OK, "", "");
}

/* ---- what changes without a request of this handle ---- */

/* Sets the result from a new verdict. The result of the last call stays as long as it still
 * holds. */
static void judge_news(struct rtf_spec_own *spec, const json_t *verdict, bool was_granted)
{
    static const char *const passing[] = {"no-broker", "detached"};
    const char *ended = client_string(verdict, "ended");
    bool was_lost = !was_granted;
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        was_lost = was_lost || strcmp(spec->code, passing[i]) == 0;
    if (ended != NULL && strcmp(ended, "broker") == 0)
        (void)say(spec, RTF_CONNECTION_ERR, "no-broker", client_string(verdict, "reason"));
    else if (!spec->granted)
        (void)take_verdict(spec, verdict);
    else if (spec->served && spec->thread == 0)
        (void)say(spec, RTF_ATTACH_FAIL, "detached", client_string(verdict, "reason"));
    else if (was_lost)
        (void)say(spec, RTF_OK, "", client_string(verdict, "reason"));
}

/* Reads a new verdict. The handle follows a spec that another program has rewritten, but not a new
 * spec that another program has created under the same name. */
static void take_news(struct rtf_spec_own *spec, const json_t *verdict)
{
    const json_t *stamp = json_object_get(verdict, "spec");
    const char *request = client_string(verdict, "request");
    const ino_t inode = (ino_t)number(stamp, "inode");
    const bool was_granted = spec->granted;
    if (inode != 0 && inode != spec->inode && request != NULL && strcmp(request, "create") == 0) {
        (void)lose(spec, "the spec has ended, and another spec has its name");
        return;
    }
    if (inode != 0 && inode != spec->inode) {
        spec->inode = inode;
        forget_former(spec);
    }
    take_text(verdict, "time", spec->decided, sizeof spec->decided);
    take_grant(spec, json_object_get(verdict, "grant"), json_object_get(verdict, "thread"));
    spec->has_key = spec->thread != 0 && json_is_null(json_object_get(verdict, "tid"));
    judge_news(spec, verdict, was_granted);
}

/* Opens the verdict before the look at it: a later verdict takes the name of this verdict, and the
 * next refresh notices that. */
static void hold(struct rtf_spec_own *spec, const struct client *client)
{
    char file[CLIENT_NAME_MAX + sizeof ".verdict"];
    snprintf(file, sizeof file, "%s.verdict", spec->name);
    const int fd = openat(client->directory, file, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (spec->verdict < 0)
        spec->verdict = fd;
    else {
        (void)dup3(fd, spec->verdict, O_CLOEXEC);
        close(fd);
    }
}

static void look_for_news(struct rtf_spec_own *spec, struct client *client)
{
    const struct client_wait wait = {.goal = CLIENT_NEWS, .name = spec->name, .interrupt = -1};
    struct client_verdict verdict = {0};
    read_answer(spec);
    const enum client_outcome outcome = client_look(client, &wait, &verdict);
    const char *decided = client_string(verdict.json, "time");
    if (outcome == CLIENT_GONE)
        (void)lose(spec, client->why);
    else if (outcome == CLIENT_OK && decided != NULL && strcmp(decided, spec->decided) != 0)
        take_news(spec, verdict.json);
    client_free_verdict(&verdict);
}

void own_refresh(struct rtf_spec_own *spec)
{
    struct stat status;
    struct client client;
    if (spec->verdict >= 0 && fstat(spec->verdict, &status) == 0 && status.st_nlink == 1)
        return;
    pthread_mutex_lock(&spec->lock);
    if (spec->inode != 0 && spec->request == OWN_NOTHING) {
        own_copy(spec->connection, &client);
        hold(spec, &client);
        look_for_news(spec, &client);
    }
    pthread_mutex_unlock(&spec->lock);
}

/* Before a request: follows a file that another program has put in place of ours. While the verdict
 * stays, the reservation has not ended, and the new file is a change of the reservation. */
static void follow(struct rtf_spec_own *spec, struct client *client)
{
    const ino_t inode = client_inode(client, spec->name);
    if (inode == spec->inode || spec->request != OWN_NOTHING)
        return;
    look_for_news(spec, client);
    if (spec->inode != 0 && inode != 0)
        spec->inode = client_inode(client, spec->name);
}

/* The broker answers a spec file with its token. A NAME.tid file has no token, so the answer must
 * match the times of the files. */
static struct client_wait wait_of(const struct rtf_spec_own *spec, int64_t until)
{
    const bool by_token = spec->request == OWN_CREATE || spec->request == OWN_CHANGE;
    return (struct client_wait){.goal = spec->request == OWN_RELEASE ? CLIENT_END : CLIENT_ANSWER,
                                .name = spec->name,
                                .token = by_token ? spec->token : NULL,
                                .inode = by_token ? spec->inode : 0,
                                .attached = spec->awaited != 0 && spec->awaited == gettid(),
                                .unread = spec->request == OWN_CREATE && spec->awaited == 0,
                                .until = until,
                                .interrupt = -1};
}

static enum rtf_result take_outcome(struct rtf_spec_own *spec, const struct client *client,
                                    enum client_outcome outcome, struct client_verdict *verdict)
{
    if (outcome == CLIENT_GONE)
        return lose(spec, client->why);
    if (outcome != CLIENT_OK)
        return say_outcome(spec, outcome, client->why);
    if (spec->request == OWN_RELEASE)
        return say_released(spec);
    forget(spec);
    if (verdict->json == NULL) {
        spec->request = OWN_NOTHING;
        /* the text may be kept for long, so it gives up unused memory */
        char *text = realloc(verdict->text, strlen(verdict->text) + 1);
        atomic_store(&spec->unread, text != NULL ? text : verdict->text);
        return spec->result = RTF_OK;
    }
    const enum rtf_result result = take_verdict(spec, verdict->json);
    client_free_verdict(verdict);
    if (spec->request == OWN_CHANGE && result == RTF_OK)
        forget_former(spec);
    /* the broker keeps nothing for a spec that ends with its thread */
    if (!spec->granted && !(spec->is_program && result == RTF_OK) &&
        (spec->request == OWN_CREATE || spec->request == OWN_ATTACH)) {
        client_withdraw(client, spec->name, spec->inode);
        spec->inode = 0;
    }
    spec->request = OWN_NOTHING;
    return result;
}

enum rtf_result own_look(struct rtf_spec_own *spec, struct client *client)
{
    if (spec->inode == 0 && spec->request != OWN_RELEASE)
        return spec->result;
    if (spec->request == OWN_NOTHING) {
        look_for_news(spec, client);
        return spec->result;
    }
    const struct client_wait wait = wait_of(spec, 0);
    struct client_verdict verdict = {0};
    const enum client_outcome outcome = client_look(client, &wait, &verdict);
    return outcome == CLIENT_PENDING ? spec->result : take_outcome(spec, client, outcome, &verdict);
}

static enum rtf_result await_answer(struct rtf_spec_own *spec, struct client *client, int64_t until)
{
    if (!spec->connection->blocking)
        return say_outcome(spec, CLIENT_PENDING, "");
    const struct client_wait wait = wait_of(spec, until);
    struct client_verdict verdict = {0};
    const enum client_outcome outcome = client_wait(client, &wait, &verdict);
    return take_outcome(spec, client, outcome, &verdict);
}

/* ---- requests ---- */

static enum rtf_result no_text(struct rtf_spec_own *spec)
{
    return say(spec, RTF_ERROR, "system", strerror(errno == 0 ? ENOMEM : errno));
}

/* Tries the next number if an earlier process with the same id has left a spec of the generated
 * name behind. */
static enum client_outcome put(struct rtf_spec_own *spec, struct client *client, const char *name,
                               const char *text)
{
    enum client_outcome outcome = CLIENT_TAKEN;
    snprintf(spec->name, sizeof spec->name, "%s", name);
    if (name[0] != '\0')
        return client_put(client, spec->name, text, &spec->inode);
    for (int tries = 0; outcome == CLIENT_TAKEN && tries < NAME_TRIES; tries++) {
        pthread_mutex_lock(&spec->connection->lock);
        const unsigned made = spec->connection->made++;
        pthread_mutex_unlock(&spec->connection->lock);
        snprintf(spec->name, sizeof spec->name, "task-%d-%u", (int)spec->connection->process, made);
        outcome = client_put(client, spec->name, text, &spec->inode);
    }
    return outcome;
}

static enum rtf_result ask(struct rtf_spec_own *spec, struct client *client,
                           const struct own_params *asked, pid_t thread, int64_t until)
{
    enum client_outcome outcome;
    spec->request = OWN_CREATE;
    spec->lasting = asked->lasting;
    spec->is_program = asked->texts[OWN_THREADS] != NULL;
    spec->has_key = thread != 0;
    spec->awaited = thread;
    own_make_token(spec->connection, spec->token);
    char *text = own_write(asked, thread, spec->token);
    enum rtf_result result;
    if (text == NULL)
        result = no_text(spec);
    else if ((outcome = put(spec, client, asked->name, text)) == CLIENT_OK ||
             (own_enter_again(spec->connection, client) &&
              (outcome = put(spec, client, asked->name, text)) == CLIENT_OK))
        result = await_answer(spec, client, until);
    else
        result = say_outcome(spec, outcome, client->why);
    free(text);
    /* after a failure, no reservation may be granted later without this program knowing */
    if (result != RTF_OK && result != RTF_PENDING && spec->inode != 0) {
        client_withdraw(client, spec->name, spec->inode);
        spec->inode = 0;
        take_grant(spec, NULL, NULL);
    }
    own_return(spec->connection, client);
    return result;
}

static enum rtf_result attempt(struct rtf_spec_own *spec, const struct own_params *asked,
                               pid_t thread, int64_t until, bool at_once)
{
    struct client client;
    const enum client_outcome outcome = at_once ? own_take_at_once(spec->connection, &client)
                                                : own_take(spec->connection, &client, until);
    return outcome == CLIENT_OK ? ask(spec, &client, asked, thread, until)
                                : say_outcome(spec, outcome, client.why);
}

/* The first try does not check whether the broker lives. If the wait finds that the broker has
 * ended, a second try connects to the running broker. */
static enum rtf_result create(struct rtf_spec_own *spec, const struct own_params *asked,
                              pid_t thread)
{
    const int64_t until = client_until(spec->connection->timeout);
    const enum rtf_result result =
        spec->connection->blocking ? attempt(spec, asked, thread, until, true) : RTF_CONNECTION_ERR;
    return result == RTF_CONNECTION_ERR ? attempt(spec, asked, thread, until, false) : result;
}

/* Returns the present text of the spec file, with another thread (-1: none). After a refused
 * change, takes the text before the change, because the broker would refuse the changed parameters
 * again, and the new thread with them. The caller frees the text. NULL: there is no file, or no
 * memory. */
static char *make_amended_text(const struct rtf_spec_own *spec, const struct client *client,
                               pid_t attach)
{
    char *present =
        spec->former != NULL ? strdup(spec->former) : client_read_spec(client, spec->name);
    json_t *text = client_parse_object(present);
    free(present);
    if (text == NULL)
        return NULL;
    json_object_set_new(text, "attach", attach > 0 ? client_thread_key(attach) : json_null());
    json_object_set_new(text, "token", json_string(spec->token));
    char *line = json_dumps(text, JSON_COMPACT);
    json_decref(text);
    return line;
}

/* Keeps the text of the parameters in force. If a change is refused, or not answered yet, the text
 * from before the change is kept. */
static void keep_former(struct rtf_spec_own *spec, const struct client *client)
{
    if (spec->former == NULL)
        spec->former = client_read_spec(client, spec->name);
}

/* Writes the spec file anew: with new parameters and the same thread, or (asked = NULL) with
 * another thread. */
static enum rtf_result rewrite(struct rtf_spec_own *spec, const struct own_params *asked,
                               pid_t attach)
{
    const int64_t until = client_until(spec->connection->timeout);
    struct client client;
    enum client_outcome outcome = own_take(spec->connection, &client, until);
    if (outcome != CLIENT_OK)
        return say_outcome(spec, outcome, client.why);
    follow(spec, &client);
    if (asked != NULL)
        keep_former(spec, &client);
    spec->request = OWN_CHANGE;
    spec->awaited = attach;
    spec->lasting = asked != NULL ? asked->lasting : spec->lasting;
    own_make_token(spec->connection, spec->token);
    char *text = asked != NULL ? own_write(asked, attach, spec->token)
                               : make_amended_text(spec, &client, attach);
    enum rtf_result result;
    if (text == NULL)
        result = no_text(spec);
    else if ((outcome = client_change(&client, spec->name, text, &spec->inode)) == CLIENT_OK)
        result = await_answer(spec, &client, until);
    else if (outcome == CLIENT_GONE)
        result = lose(spec, client.why);
    else
        result = say_outcome(spec, outcome, client.why);
    free(text);
    own_return(spec->connection, &client);
    return result;
}

/* Writes or removes NAME.tid, which leaves the grant as it is. thread = 0: detach. */
static enum rtf_result set_thread(struct rtf_spec_own *spec, pid_t thread)
{
    const int64_t until = client_until(spec->connection->timeout);
    struct client client;
    enum client_outcome outcome = own_take(spec->connection, &client, until);
    if (outcome != CLIENT_OK)
        return say_outcome(spec, outcome, client.why);
    follow(spec, &client);
    if (spec->inode == 0) {
        own_return(spec->connection, &client);
        return spec->result;
    }
    spec->request = thread != 0 ? OWN_ATTACH : OWN_DETACH;
    spec->awaited = thread;
    outcome = thread != 0 ? client_attach(&client, spec->name, thread)
                          : client_detach(&client, spec->name);
    enum rtf_result result;
    /* the broker answers for a missing NAME.tid, too */
    if (outcome == CLIENT_OK || outcome == CLIENT_GONE)
        result = await_answer(spec, &client, until);
    else
        result = say_outcome(spec, outcome, client.why);
    own_return(spec->connection, &client);
    return result;
}

/* ---- calls ---- */

static struct rtf_spec_own *make(struct rtf_connection_own *connection, struct rtf_spec *handle)
{
    struct rtf_spec_own *spec = calloc(1, sizeof *spec);
    if (spec == NULL)
        return NULL;
    spec->connection = connection;
    spec->handle = handle;
    spec->verdict = -1;
    pthread_mutex_init(&spec->lock, NULL);
    handle->own = spec;
    own_enlist(spec);
    return spec;
}

static void unmake(struct rtf_spec_own *spec)
{
    own_strike(spec);
    forget(spec);
    if (spec->verdict >= 0)
        close(spec->verdict);
    forget_former(spec);
    for (int i = 0; i < OWN_TEXTS; i++)
        free(spec->texts[i]);
    spec->handle->own = NULL;
    pthread_mutex_destroy(&spec->lock);
    free(spec);
}

void own_end(struct rtf_spec_own *spec, struct client *client)
{
    if (spec->inode != 0 && spec->thread == 0 && !spec->lasting && client->directory >= 0)
        client_withdraw(client, spec->name, spec->inode);
    unmake(spec);
}

/* Makes a new spec in the handle. A handle after a refused request can be used again. NULL: the
 * calling function returns *result. */
static struct rtf_spec_own *begin(const struct rtf_connection *connection, struct rtf_spec *spec,
                                  enum rtf_result *result)
{
    *result = RTF_ERROR;
    if (spec->own != NULL) {
        pthread_mutex_lock(&spec->own->lock);
        const bool ends = spec->own->request == OWN_RELEASE, holds = ends || spec->own->inode != 0;
        if (holds && !ends)
            (void)say(spec->own, RTF_ERROR, "misuse",
                      "the handle holds a spec: release that spec first");
        pthread_mutex_unlock(&spec->own->lock);
        if (holds)
            return NULL;
        unmake(spec->own);
    }
    if (connection->own == NULL || connection->own->client.directory < 0) {
        *result = RTF_CONNECTION_ERR;
        return NULL;
    }
    return make(connection->own, spec);
}

static enum rtf_result begin_and_create(struct rtf_connection *connection, struct rtf_spec *spec,
                                        const struct rtf_params *params, pid_t thread)
{
    enum rtf_result result;
    struct rtf_spec_own *own = begin(connection, spec, &result);
    if (own == NULL)
        return result;
    const struct own_params asked = own_params(params);
    pthread_mutex_lock(&own->lock);
    result = create(own, &asked, thread);
    pthread_mutex_unlock(&own->lock);
    return result;
}

enum rtf_result rtf_spec_create(struct rtf_connection *connection, struct rtf_spec *spec,
                                const struct rtf_params *params)
{
    return begin_and_create(connection, spec, params, 0);
}

enum rtf_result rtf_spec_create_attached(struct rtf_connection *connection, struct rtf_spec *spec,
                                         const struct rtf_params *params, pid_t thread)
{
    return begin_and_create(connection, spec, params, thread == 0 ? gettid() : thread);
}

static enum rtf_result find(struct rtf_spec_own *spec, const char *name)
{
    const int64_t until = client_until(spec->connection->timeout);
    struct client client;
    enum client_outcome outcome = own_take(spec->connection, &client, until);
    if (outcome != CLIENT_OK)
        return say_outcome(spec, outcome, client.why);
    snprintf(spec->name, sizeof spec->name, "%s", name);
    spec->inode = client_inode(&client, name);
    spec->lasting = true; /* whatever program has made the spec */
    const struct client_wait wait = {.name = spec->name, .until = until, .interrupt = -1};
    struct client_verdict verdict = {0};
    outcome = client_wait(&client, &wait, &verdict);
    if (outcome == CLIENT_OK)
        spec->has_key = json_is_object(json_object_get(verdict.json, "thread")) &&
                        json_is_null(json_object_get(verdict.json, "tid"));
    enum rtf_result result = take_outcome(spec, &client, outcome, &verdict);
    if (spec->granted) /* the verdict may be that of a refused change */
        result = spec->result = RTF_OK;
    own_return(spec->connection, &client);
    return result;
}

enum rtf_result rtf_spec_find(struct rtf_connection *connection, struct rtf_spec *spec,
                              const char *name)
{
    enum rtf_result result;
    struct rtf_spec_own *own = begin(connection, spec, &result);
    if (own == NULL)
        return result;
    pthread_mutex_lock(&own->lock);
    result = client_name_ok(name) ? find(own, name)
                                  : say(own, RTF_BAD_SPEC, "bad-spec", CLIENT_NAME_RULE);
    pthread_mutex_unlock(&own->lock);
    return result;
}

/* Returns the handle's spec, locked. NULL: there is no spec, and the calling function returns
 * *result. */
static struct rtf_spec_own *held(struct rtf_spec *spec, enum rtf_result *result)
{
    *result = RTF_ERROR;
    if (spec->own == NULL)
        return NULL;
    pthread_mutex_lock(&spec->own->lock);
    /* parsed now, so that no getter waits for the lock while this call waits for the broker */
    read_answer(spec->own);
    if (spec->own->inode != 0)
        return spec->own;
    *result = say(spec->own, RTF_GONE, "gone",
                  "the spec does not exist: it was not granted, or has ended");
    pthread_mutex_unlock(&spec->own->lock);
    return NULL;
}

enum rtf_result rtf_spec_change(struct rtf_spec *spec, const struct rtf_params *params)
{
    enum rtf_result result;
    struct rtf_spec_own *own = held(spec, &result);
    if (own == NULL)
        return result;
    const struct own_params asked = own_params(params);
    result = asked.dry_run ? say(own, RTF_ERROR, "misuse",
                                 "a dry run has a handle of its own: rtf_spec_create")
                           : rewrite(own, &asked, 0);
    pthread_mutex_unlock(&own->lock);
    return result;
}

enum rtf_result rtf_params_from_spec(struct rtf_params *params, struct rtf_spec *spec)
{
    enum rtf_result result;
    struct client client;
    struct own_params read = {.name = ""};
    struct rtf_spec_own *own = held(spec, &result);
    if (own == NULL)
        return result;
    own_copy(own->connection, &client);
    char *text = own->former != NULL ? strdup(own->former) : client_read_spec(&client, own->name);
    if (text == NULL)
        result = say(own, RTF_GONE, "gone", "the spec was removed");
    else if (!own_parse(text, &read, own->texts))
        result = say(own, RTF_BAD_SPEC, "bad-spec", "the file is not a spec with these parameters");
    else
        result = RTF_OK;
    free(text);
    if (result == RTF_OK) {
        memcpy(read.name, own->name, sizeof read.name);
        own_keep_params(params, &read);
    }
    pthread_mutex_unlock(&own->lock);
    return result;
}

enum rtf_result rtf_spec_attach(struct rtf_spec *spec, pid_t thread)
{
    enum rtf_result result;
    struct rtf_spec_own *own = held(spec, &result);
    if (own == NULL)
        return result;
    if (thread == 0)
        thread = gettid();
    result = own->has_key ? rewrite(own, NULL, thread) : set_thread(own, thread);
    pthread_mutex_unlock(&own->lock);
    return result;
}

enum rtf_result rtf_spec_detach(struct rtf_spec *spec)
{
    enum rtf_result result;
    struct rtf_spec_own *own = held(spec, &result);
    if (own == NULL)
        return result;
    result = own->has_key ? rewrite(own, NULL, -1) : set_thread(own, 0);
    if (result == RTF_OK || result == RTF_PENDING)
        own->has_key = false;
    pthread_mutex_unlock(&own->lock);
    return result;
}

/* Waits until the broker removes the verdict, because by then the thread has its former scheduling
 * back. */
static enum rtf_result await_end(struct rtf_spec_own *spec, struct client *client, int64_t until)
{
    if (!spec->connection->blocking) {
        say(spec, RTF_PENDING, "", "");
        return own_look(spec, client);
    }
    const struct client_wait wait = wait_of(spec, until);
    struct client_verdict verdict = {0};
    return take_outcome(spec, client, client_wait(client, &wait, &verdict), &verdict);
}

/* Removes the file. CLIENT_GONE: the spec has ended. */
static enum client_outcome remove_spec(struct rtf_spec_own *spec, struct client *client)
{
    follow(spec, client);
    if (spec->inode == 0)
        return CLIENT_GONE;
    const enum client_outcome outcome = client_remove(client, spec->name, spec->inode);
    if (outcome == CLIENT_OK)
        spec->inode = 0;
    return outcome;
}

static enum rtf_result release(struct rtf_spec_own *spec)
{
    const int64_t until = client_until(spec->connection->timeout);
    struct client client;
    const enum client_outcome taken = own_take(spec->connection, &client, until);
    /* removes the file also if no broker runs, because the next broker then releases the
     * reservation */
    enum client_outcome outcome =
        spec->request == OWN_RELEASE ? CLIENT_OK : remove_spec(spec, &client);
    enum rtf_result result;
    if (outcome == CLIENT_OK && taken == CLIENT_OK) {
        spec->request = OWN_RELEASE;
        result = await_end(spec, &client, until);
    } else
        result = outcome == CLIENT_GONE
                     ? RTF_OK
                     : say_outcome(spec, outcome != CLIENT_OK ? outcome : taken, client.why);
    if (taken == CLIENT_OK)
        own_return(spec->connection, &client);
    return result;
}

enum rtf_result rtf_spec_release(struct rtf_spec *spec)
{
    struct rtf_spec_own *own = spec->own;
    if (own == NULL)
        return RTF_OK;
    pthread_mutex_lock(&own->lock);
    const enum rtf_result result =
        own->inode == 0 && own->request != OWN_RELEASE ? RTF_OK : release(own);
    pthread_mutex_unlock(&own->lock);
    if (result != RTF_PENDING)
        unmake(own);
    return result;
}
