#include "rtf-requests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rtf-await.h"
#include "rtf-verdict.h"

enum { NAME_TRIES = 1000 };

static enum rtf_result no_text(struct rtf_spec_own *spec)
{
    return own_set_result(spec, RTF_ERROR, "system", strerror(errno == 0 ? ENOMEM : errno));
}

/* Puts the spec into the spool. If the name is generated, and an earlier process with the same id
 * has left a spec of this name behind, tries the next number. */
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
        result = own_await_answer(spec, client, until);
    else
        result = own_set_outcome(spec, outcome, client->why);
    free(text);
    /* after a failure the spec is removed, because otherwise the broker could grant it later, and
     * this program would not know */
    if (result != RTF_OK && result != RTF_PENDING && spec->inode != 0) {
        client_withdraw(client, spec->name, spec->inode);
        spec->inode = 0;
        own_take_grant(spec, NULL, NULL);
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
                                : own_set_outcome(spec, outcome, client.why);
}

/* The first try does not check whether the broker still runs. If the wait for the answer finds that
 * the broker has ended, a second try connects to the broker that runs now. */
enum rtf_result own_create(struct rtf_spec_own *spec, const struct own_params *asked, pid_t thread)
{
    const int64_t until = client_until(spec->connection->timeout);
    const enum rtf_result result =
        spec->connection->blocking ? attempt(spec, asked, thread, until, true) : RTF_CONNECTION_ERR;
    return result == RTF_CONNECTION_ERR ? attempt(spec, asked, thread, until, false) : result;
}

/* Returns the present text of the spec file with another thread (-1: none). After a refused change,
 * takes the text from before the change: the broker would refuse the changed parameters again, and
 * would not attach the new thread. The caller frees the text. NULL: there is no file, or no
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

/* Before a change: keeps the text of the parameters in force. If an earlier change was refused, or
 * is not answered yet, the handle already has this text, from before the earlier change. */
static void keep_former(struct rtf_spec_own *spec, const struct client *client)
{
    if (spec->former == NULL)
        spec->former = client_read_spec(client, spec->name);
}

/* Copies the client of the connection (own_take), and reads changes that other programs have made
 * to the spec. False: spec->result is the failure. */
static bool take_for(struct rtf_spec_own *spec, struct client *client, int64_t until)
{
    const enum client_outcome outcome = own_take(spec->connection, client, until);
    if (outcome == CLIENT_OK)
        own_follow(spec, client);
    else
        (void)own_set_outcome(spec, outcome, client->why);
    return outcome == CLIENT_OK;
}

enum rtf_result own_rewrite(struct rtf_spec_own *spec, const struct own_params *asked, pid_t attach)
{
    const int64_t until = client_until(spec->connection->timeout);
    struct client client;
    enum client_outcome outcome;
    if (!take_for(spec, &client, until))
        return spec->result;
    if (attach > 0 && client_find_free(&client, spec->name, attach) != CLIENT_OK) {
        own_return(spec->connection, &client);
        return own_set_busy(spec, client.why);
    }
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
        result = own_await_answer(spec, &client, until);
    else if (outcome == CLIENT_GONE)
        result = own_set_gone(spec, client.why);
    else
        result = own_set_outcome(spec, outcome, client.why);
    free(text);
    own_return(spec->connection, &client);
    return result;
}

enum rtf_result own_set_thread(struct rtf_spec_own *spec, pid_t thread)
{
    const int64_t until = client_until(spec->connection->timeout);
    struct client client;
    if (!take_for(spec, &client, until))
        return spec->result;
    if (spec->inode == 0) {
        own_return(spec->connection, &client);
        return spec->result;
    }
    enum client_outcome outcome =
        thread != 0 ? client_take(&client, spec->name, thread) : client_detach(&client, spec->name);
    if (outcome == CLIENT_TAKEN) {
        own_return(spec->connection, &client);
        return own_set_busy(spec, client.why);
    }
    spec->request = thread != 0 ? OWN_ATTACH : OWN_DETACH;
    spec->awaited = thread;
    enum rtf_result result;
    /* CLIENT_GONE: there was no NAME.tid to remove; the broker has answered the state without
     * NAME.tid, too */
    if (outcome == CLIENT_OK || outcome == CLIENT_GONE)
        result = own_await_answer(spec, &client, until);
    else
        result = own_set_outcome(spec, outcome, client.why);
    own_return(spec->connection, &client);
    return result;
}

enum rtf_result own_find(struct rtf_spec_own *spec, const char *name)
{
    const int64_t until = client_until(spec->connection->timeout);
    struct client client;
    enum client_outcome outcome = own_take(spec->connection, &client, until);
    if (outcome != CLIENT_OK)
        return own_set_outcome(spec, outcome, client.why);
    snprintf(spec->name, sizeof spec->name, "%s", name);
    spec->inode = client_inode(&client, name);
    /* a spec that is found counts as lasting, because rtf_disconnect must not remove a spec that
     * another program may have made */
    spec->lasting = true;
    const struct client_wait wait = {.name = spec->name, .until = until, .interrupt = -1};
    struct client_verdict verdict = {0};
    outcome = client_wait(&client, &wait, &verdict);
    if (outcome == CLIENT_OK)
        spec->has_key = json_is_object(json_object_get(verdict.json, "thread")) &&
                        json_is_null(json_object_get(verdict.json, "tid"));
    enum rtf_result result = own_take_outcome(spec, &client, outcome, &verdict);
    if (spec->granted) /* the verdict may refuse a change, while the reservation stays granted */
        result = spec->result = RTF_OK;
    own_return(spec->connection, &client);
    return result;
}

/* Removes the file. CLIENT_GONE: the spec has ended. */
static enum client_outcome remove_spec(struct rtf_spec_own *spec, struct client *client)
{
    own_follow(spec, client);
    if (spec->inode == 0)
        return CLIENT_GONE;
    const enum client_outcome outcome = client_remove(client, spec->name, spec->inode);
    if (outcome == CLIENT_OK)
        spec->inode = 0;
    return outcome;
}

enum rtf_result own_release(struct rtf_spec_own *spec)
{
    const int64_t until = client_until(spec->connection->timeout);
    struct client client;
    const enum client_outcome taken = own_take(spec->connection, &client, until);
    /* removes the file even if no broker runs: the next broker then releases the reservation */
    enum client_outcome outcome =
        spec->request == OWN_RELEASE ? CLIENT_OK : remove_spec(spec, &client);
    enum rtf_result result;
    if (outcome == CLIENT_OK && taken == CLIENT_OK) {
        spec->request = OWN_RELEASE;
        result = own_await_end(spec, &client, until);
    } else
        result = outcome == CLIENT_GONE
                     ? RTF_OK
                     : own_set_outcome(spec, outcome != CLIENT_OK ? outcome : taken, client.why);
    if (taken == CLIENT_OK)
        own_return(spec->connection, &client);
    return result;
}
