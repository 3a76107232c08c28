#include "reserve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"

#define ANSWER_WITHIN UINT64_C(30000000) /* us */

static int status_of(enum client_outcome outcome)
{
    switch (outcome) {
    case CLIENT_OK: return EX_OK;
    case CLIENT_NO_BROKER: return EX_UNAVAILABLE;
    case CLIENT_DENIED: return EX_NOPERM;
    case CLIENT_PENDING:
    case CLIENT_TIMEOUT: return EX_TEMPFAIL;
    case CLIENT_TAKEN:
    case CLIENT_INTERRUPTED:
    case CLIENT_GONE:
    case CLIENT_ERROR: break;
    }
    return EX_OSERR;
}

static char *make_text(const json_t *spec, const char *token)
{
    json_t *copy = json_deep_copy(spec);
    json_object_set_new(copy, "attach", json_integer(gettid()));
    json_object_set_new(copy, "lifetime", json_string("thread"));
    json_object_set_new(copy, "token", json_string(token));
    char *text = json_dumps(copy, JSON_COMPACT);
    json_decref(copy);
    return text;
}

/* Stores the grant, or the broker's sentence about the refusal. */
static int take_verdict(const json_t *verdict, char *grant, size_t size, char *why)
{
    const json_t *granted = json_object_get(verdict, "grant");
    const int status = client_status_of_verdict(verdict);
    if (status != EX_OK || !json_is_object(granted)) {
        char text[CLIENT_WHY];
        client_tell_refusal(verdict, text);
        snprintf(why, RESERVE_WHY, "the reservation was not granted: %s", text);
        return status == EX_OK ? EX_TEMPFAIL : status;
    }
    size_t length = json_dumpb(granted, grant, size - 1, JSON_COMPACT);
    grant[length < size ? length : 0] = '\0';
    return EX_OK;
}

static int ask(struct client *client, int64_t until, const char *name, const json_t *spec,
               char *grant, size_t size, char *why)
{
    char token[CLIENT_TOKEN];
    struct client_wait wait = {
        .name = name, .token = token, .attached = true, .until = until, .interrupt = -1};
    struct client_verdict verdict;
    char *text = client_make_token(token) ? make_text(spec, token) : NULL;
    enum client_outcome outcome =
        text == NULL ? CLIENT_ERROR : client_put(client, name, text, &wait.inode);
    free(text);
    if (outcome != CLIENT_OK)
        return status_of(outcome);
    outcome = client_wait(client, &wait, &verdict);
    int status = status_of(outcome);
    if (outcome == CLIENT_OK) {
        status = take_verdict(verdict.json, grant, size, why);
        client_free_verdict(&verdict);
    }
    if (status != EX_OK)
        client_withdraw(client, name, wait.inode);
    return status;
}

int reserve_for_self(const char *spool, const char *thread, const json_t *spec, char *grant,
                     size_t size, char why[static RESERVE_WHY])
{
    struct client client;
    char name[CLIENT_NAME_MAX + 1];
    const int64_t until = client_until(ANSWER_WITHIN);
    snprintf(name, sizeof name, "muse-%d-%.40s", (int)getpid(), thread);
    why[0] = '\0';
    enum client_outcome outcome = client_open(&client, spool);
    if (outcome == CLIENT_OK)
        outcome = client_connect(&client, until);
    if (outcome == CLIENT_OK)
        outcome = client_enter(&client, true);
    int status = outcome == CLIENT_OK ? ask(&client, until, name, spec, grant, size, why)
                                      : status_of(outcome);
    if (status != EX_OK && why[0] == '\0')
        snprintf(why, RESERVE_WHY, "the reservation cannot be made: %.500s",
                 client.why[0] == '\0' ? "a system call failed" : client.why);
    client_close(&client);
    return status;
}
