#include "request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "command-line.h"
#include "grant-text.h"
#include "spec-lock.h"

/* ---- the spool ---- */

__attribute__((noreturn)) static void end(const struct request *request,
                                          enum client_outcome outcome)
{
    char why[CLIENT_WHY];
    command_fail(client_status_of_outcome(outcome), "%s",
                 client_printable(request->client.why, why, sizeof why));
}

void request_open(struct request *request, const char *spool, uint64_t timeout, bool create)
{
    *request = (struct request){.timeout = timeout, .signals = {.fd = -1}, .lock = -1};
    enum client_outcome outcome = client_open(&request->client, spool);
    if (outcome == CLIENT_OK)
        outcome = client_enter(&request->client, create);
    request->is_entered = outcome == CLIENT_OK;
    if (outcome != CLIENT_OK && (create || outcome != CLIENT_GONE))
        end(request, outcome);
}

void request_close(struct request *request)
{
    request_let_signals(request);
    client_free_verdict(&request->verdict);
    spec_unlock(&request->lock);
    client_close(&request->client);
}

void request_hold_signals(struct request *request)
{
    if (!signals_hold(&request->signals))
        command_fail(EX_OSERR, "signalfd: %s", strerror(errno));
}

void request_let_signals(struct request *request)
{
    if (request->signals.fd < 0)
        return;
    close(request->signals.fd);
    request->signals.fd = -1;
    signals_release(&request->signals);
}

static bool fail(struct request *request, enum client_outcome outcome)
{
    request->status = client_status_of_outcome(outcome);
    client_printable(request->client.why, request->sentence, sizeof request->sentence);
    return false;
}

bool request_connect(struct request *request)
{
    const enum client_outcome outcome =
        request->is_connected ? CLIENT_OK
                              : client_connect(&request->client, client_until(request->timeout));
    request->is_connected = outcome == CLIENT_OK;
    return request->is_connected || fail(request, outcome);
}

/* ---- a spec in the spool ---- */

/* Reads a file of this size. The caller frees the text. NULL: the file is larger than a spec may
 * be, or there is no memory. */
static char *read_all(int fd, size_t size)
{
    enum { MOST = 1 << 20 };
    char *text = size > MOST ? NULL : malloc(size + 1);
    size_t length = 0;
    ssize_t got = 1;
    while (text != NULL && length < size && (got = read(fd, text + length, size - length)) > 0)
        length += (size_t)got;
    if (text != NULL)
        text[length] = '\0';
    return text;
}

/* Reads the spec NAME. False: there is no such spec. */
static bool read_spec(struct request *request, const char *name, struct request_spec *spec)
{
    struct stat status;
    const bool is_there = request->is_entered &&
                          spec_lock(&request->client, name, request->timeout, &request->lock) &&
                          fstat(request->lock, &status) == 0 && S_ISREG(status.st_mode);
    if (is_there)
        *spec = (struct request_spec){.text = read_all(request->lock, (size_t)status.st_size),
                                      .inode = status.st_ino,
                                      .modified = status.st_mtim};
    return is_there;
}

struct request_spec request_read(struct request *request, const char *name)
{
    struct request_spec spec;
    const struct client *client = &request->client;
    if (!request->is_entered)
        command_fail(EX_NOINPUT, "there is no spec %s", name);
    if (!read_spec(request, name, &spec))
        command_fail(EX_NOINPUT, "there is no spec %s in %s/specs/%s", name, client->spool,
                     client->user);
    spec.json = client_parse_object(spec.text);
    if (spec.json == NULL)
        command_fail(EX_DATAERR, "%s/specs/%s/%s.json: this is not one JSON object", client->spool,
                     client->user, name);
    return spec;
}

void request_free_spec(struct request_spec *spec)
{
    json_decref(spec->json);
    free(spec->text);
    *spec = (struct request_spec){0};
}

/* The caller owns the object. NULL: there is no verdict, or the file is not one JSON object. */
static json_t *read_verdict(const struct request *request, const char *name)
{
    char file[CLIENT_NAME_MAX + sizeof ".verdict"];
    snprintf(file, sizeof file, "%s.verdict", name);
    return client_read_object(request->client.directory, file);
}

pid_t request_thread(const struct request *request, const char *name)
{
    json_t *verdict = read_verdict(request, name);
    const pid_t thread =
        (pid_t)json_integer_value(json_object_get(json_object_get(verdict, "thread"), "tid"));
    json_decref(verdict);
    return thread;
}

bool request_thread_has_ended(const struct request *request, const char *name)
{
    json_t *verdict = read_verdict(request, name);
    const bool has_ended = json_is_null(json_object_get(verdict, "thread"));
    json_decref(verdict);
    return has_ended;
}

/* ---- a spec that is written ---- */

/* Returns the spec as text, with a new token. The caller frees the text. */
static char *text_of(struct request *request, json_t *spec)
{
    if (!client_make_token(request->token))
        command_fail(EX_OSERR, "the kernel gives no random numbers: %s", strerror(errno));
    json_object_set_new(spec, "token", json_string(request->token));
    char *text = json_dumps(spec, JSON_COMPACT);
    if (text == NULL)
        command_fail(EX_OSERR, "cannot make a spec: %s", strerror(ENOMEM));
    return text;
}

__attribute__((noreturn)) static void end_unwritten(const struct request *request,
                                                    enum client_outcome outcome)
{
    if (outcome != CLIENT_ERROR)
        end(request, outcome);
    command_fail(EX_IOERR, "cannot write %s", request->client.why);
}

bool request_put(struct request *request, const char *name, json_t *spec)
{
    char *text = text_of(request, spec);
    const enum client_outcome outcome = client_put(&request->client, name, text, &request->inode);
    free(text);
    request->name = name;
    if (outcome == CLIENT_TAKEN)
        request->inode = 0;
    else if (outcome != CLIENT_OK)
        end_unwritten(request, outcome);
    return outcome == CLIENT_OK;
}

void request_change(struct request *request, const char *name, const struct request_spec *former,
                    json_t *spec)
{
    char *text = text_of(request, spec);
    request->inode = former->inode;
    spec_begin(&request->client);
    const enum client_outcome outcome =
        client_change(&request->client, name, text, &request->inode);
    spec_end(&request->client, name, &request->lock);
    free(text);
    request->name = name;
    if (outcome != CLIENT_OK)
        end_unwritten(request, outcome);
}

void request_withdraw(struct request *request)
{
    if (request->inode != 0)
        client_withdraw(&request->client, request->name, request->inode);
    request->inode = 0;
}

void request_put_back(struct request *request, const struct request_spec *former)
{
    struct client_verdict verdict;
    const bool was_answered = request->verdict.text != NULL;
    if (client_put_back(&request->client, request->name, former->text, &former->modified,
                        &request->inode) != CLIENT_OK ||
        !was_answered)
        return;
    const struct client_wait wait = {.name = request->name,
                                     .until = client_until(request->timeout),
                                     .interrupt = request->signals.fd};
    if (client_wait(&request->client, &wait, &verdict) == CLIENT_OK)
        client_free_verdict(&verdict);
}

/* ---- the answer ---- */

static bool wait_for(struct request *request, const struct client_wait *wait)
{
    client_free_verdict(&request->verdict);
    if (!request_connect(request))
        return false;
    const enum client_outcome outcome = client_wait(&request->client, wait, &request->verdict);
    if (outcome != CLIENT_OK)
        return fail(request, outcome);
    request->status = client_status_of_verdict(request->verdict.json);
    client_tell_refusal(request->verdict.json, request->sentence);
    return request->status == EX_OK;
}

bool request_wait(struct request *request)
{
    const struct client_wait wait = {.name = request->name,
                                     .token = request->token,
                                     .inode = request->inode,
                                     .until = client_until(request->timeout),
                                     .interrupt = request->signals.fd};
    return wait_for(request, &wait);
}

bool request_wait_for_files(struct request *request, const char *name)
{
    const struct client_wait wait = {.name = name,
                                     .until = client_until(request->timeout),
                                     .interrupt = request->signals.fd};
    return wait_for(request, &wait);
}

/* First looks whether the files are gone, because that needs no broker. */
bool request_wait_for_end(struct request *request, const char *name)
{
    const struct client_wait wait = {.goal = CLIENT_END,
                                     .name = name,
                                     .until = client_until(request->timeout),
                                     .interrupt = -1};
    struct client_verdict verdict;
    if (client_look(&request->client, &wait, &verdict) == CLIENT_OK)
        return true;
    if (!request_connect(request))
        return false;
    const enum client_outcome outcome = client_wait(&request->client, &wait, &verdict);
    return outcome == CLIENT_OK || fail(request, outcome);
}

void request_say(const struct request *request, const char *name)
{
    command_say("%s: %s", name, request->sentence);
}

/* Says "rtf attach: app+4243 (camera-1): EDF grants ..." for each thread of a program. */
static void say_grants_of_threads(const struct request *request, const json_t *rows)
{
    char text[GRANT_TEXT], name[GRANT_TEXT];
    const json_t *row;
    size_t i;
    json_array_foreach((json_t *)rows, i, row)
    {
        const char *comm = client_string(row, "name");
        const json_t *grant = json_object_get(row, "grant");
        if (json_is_object(grant))
            command_say("%s+%lld (%s): %s", request->name,
                        (long long)json_integer_value(json_object_get(row, "tid")),
                        client_printable(comm == NULL ? "" : comm, name, sizeof name),
                        grant_text(grant, text));
    }
}

/* Takes `would_grant` instead of `grant` if the verdict answers a dry run. */
void request_say_grant(const struct request *request)
{
    char text[GRANT_TEXT];
    const json_t *verdict = request->verdict.json, *grant = json_object_get(verdict, "grant"),
                 *rows = json_object_get(verdict, "threads");
    if (json_is_array(rows)) {
        say_grants_of_threads(request, rows);
        return;
    }
    command_say("%s: %s", request->name,
                grant_text(json_is_object(grant) ? grant : json_object_get(verdict, "would_grant"),
                           text));
}

bool request_print(const struct request *request)
{
    command_hold_pipe();
    if (request->verdict.text != NULL)
        printf("%.*s\n", (int)strcspn(request->verdict.text, "\n"), request->verdict.text);
    return command_is_written();
}
