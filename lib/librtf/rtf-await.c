#include "rtf-await.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rtf-unasked-change.h"
#include "rtf-verdict.h"

void own_follow(struct rtf_spec_own *spec, struct client *client)
{
    const ino_t inode = client_inode(client, spec->name);
    if (inode == spec->inode || spec->request != OWN_NOTHING)
        return;
    own_look_for_changes(spec, client);
    if (spec->inode != 0 && inode != 0)
        spec->inode = client_inode(client, spec->name);
}

/* Describes the answer to the last request, for client_wait. The broker's answer to a spec file has
 * the token of the spec. A NAME.tid file has no token, so the answer must have the stamps (inode
 * and time) of the files. */
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

/* After an attachment: checks that the requested thread has the reservation. Two programs may ask
 * for the reservation at the same time, and the later NAME.tid replaces the earlier one. So only
 * the thread in the answer has the reservation. In other pid namespaces than the first, the answer
 * has another id for the same thread, so the function checks nothing. */
static enum rtf_result check_holder(struct rtf_spec_own *spec)
{
    const bool is_other = spec->thread != 0 && spec->thread != spec->awaited;
    if (!is_other || !client_in_first_namespace())
        return spec->result;
    return own_set_busy(spec, "another thread has taken the reservation at the same time");
}

enum rtf_result own_take_outcome(struct rtf_spec_own *spec, const struct client *client,
                                 enum client_outcome outcome, struct client_verdict *verdict)
{
    if (outcome == CLIENT_GONE)
        return own_set_gone(spec, client->why);
    if (outcome != CLIENT_OK)
        return own_set_outcome(spec, outcome, client->why);
    if (spec->request == OWN_RELEASE)
        return own_set_released(spec);
    own_forget_answer(spec);
    if (verdict->json == NULL) {
        spec->request = OWN_NOTHING;
        /* realloc gives up the unused memory of the text, which may be kept for a long time */
        char *text = realloc(verdict->text, strlen(verdict->text) + 1);
        atomic_store(&spec->unread, text != NULL ? text : verdict->text);
        return spec->result = RTF_OK;
    }
    const enum rtf_result result = own_take_verdict(spec, verdict->json);
    client_free_verdict(verdict);
    if (spec->request == OWN_CHANGE && result == RTF_OK)
        own_forget_former(spec);
    const bool is_attached = spec->request == OWN_ATTACH && result == RTF_OK;
    /* after a refusal nothing is reserved for this spec, so its file is removed, too */
    if (!spec->granted && !(spec->is_program && result == RTF_OK) &&
        (spec->request == OWN_CREATE || spec->request == OWN_ATTACH)) {
        client_withdraw(client, spec->name, spec->inode);
        spec->inode = 0;
    }
    spec->request = OWN_NOTHING;
    return is_attached ? check_holder(spec) : result;
}

enum rtf_result own_look(struct rtf_spec_own *spec, struct client *client)
{
    if (spec->inode == 0 && spec->request != OWN_RELEASE)
        return spec->result;
    if (spec->request == OWN_NOTHING) {
        own_look_for_changes(spec, client);
        return spec->result;
    }
    const struct client_wait wait = wait_of(spec, 0);
    struct client_verdict verdict = {0};
    const enum client_outcome outcome = client_look(client, &wait, &verdict);
    return outcome == CLIENT_PENDING ? spec->result
                                     : own_take_outcome(spec, client, outcome, &verdict);
}

enum rtf_result own_await_answer(struct rtf_spec_own *spec, struct client *client, int64_t until)
{
    if (!spec->connection->blocking)
        return own_set_outcome(spec, CLIENT_PENDING, "");
    const struct client_wait wait = wait_of(spec, until);
    struct client_verdict verdict = {0};
    const enum client_outcome outcome = client_wait(client, &wait, &verdict);
    return own_take_outcome(spec, client, outcome, &verdict);
}

enum rtf_result own_await_end(struct rtf_spec_own *spec, struct client *client, int64_t until)
{
    if (!spec->connection->blocking) {
        own_set_result(spec, RTF_PENDING, "", "");
        return own_look(spec, client);
    }
    const struct client_wait wait = wait_of(spec, until);
    struct client_verdict verdict = {0};
    return own_take_outcome(spec, client, client_wait(client, &wait, &verdict), &verdict);
}
