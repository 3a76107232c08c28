#include "every-spec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command-line.h"
#include "every.h"

/* Returns the spec as text, which the caller frees. The reservation ends with `thread`; thread 0:
 * the reservation has a lease. */
static char *make_spec(pid_t thread)
{
    json_t *object = json_copy(every.options.spec);
    if (thread != 0) {
        json_object_set_new(object, "attach", client_thread_key(thread));
        json_object_set_new(object, "lifetime", json_string("thread"));
    } else
        json_object_set_new(object, "expires", json_integer(LEASE));
    json_object_set_new(object, "token", json_string(every.token));
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return text;
}

void every_withdraw(void)
{
    char file[CLIENT_NAME_MAX + sizeof ".tid"];
    snprintf(file, sizeof file, "%s.tid", every.name);
    if (every.inode != 0) {
        unlinkat(every.client.directory, file, 0);
        client_withdraw(&every.client, every.name, every.inode);
    }
    every.inode = 0;
}

/* Says the reason of a refusal. */
static bool refused(const json_t *verdict)
{
    char why[CLIENT_WHY];
    if (!json_is_object(json_object_get(verdict, "refusal")))
        return false;
    client_tell_refusal(verdict, why);
    command_say("%s", why);
    return true;
}

bool every_await(const char *token, ino_t inode, uint64_t within)
{
    struct client_wait wait = {.name = every.name,
                               .token = token,
                               .inode = inode,
                               .until = client_until(within),
                               .interrupt = every.signals};
    struct client_verdict verdict;
    enum client_outcome outcome = client_wait(&every.client, &wait, &verdict);
    if (outcome != CLIENT_OK) {
        if (outcome != CLIENT_INTERRUPTED)
            command_say("%s", every.client.why);
        return false;
    }
    bool good = !refused(verdict.json);
    client_free_verdict(&verdict);
    return good;
}

bool every_reserve(pid_t thread)
{
    char *text = client_make_token(every.token) ? make_spec(thread) : NULL;
    enum client_outcome outcome = CLIENT_ERROR;
    if (every.options.name != NULL)
        snprintf(every.name, sizeof every.name, "%s", every.options.name);
    else
        snprintf(every.name, sizeof every.name, "every-%d", getpid());
    if (text != NULL)
        outcome = client_put(&every.client, every.name, text, &every.inode);
    /* a former rtf every with the same process id was killed, and has left its spec */
    if (outcome == CLIENT_TAKEN && every.options.name == NULL) {
        snprintf(every.name, sizeof every.name, "every-%d-%s", getpid(), every.token);
        outcome = client_put(&every.client, every.name, text, &every.inode);
    }
    free(text);
    if (outcome == CLIENT_TAKEN)
        client_tell_holder(&every.client, every.name, "");
    if (outcome != CLIENT_OK) {
        command_say("%s", every.client.why);
        every.inode = 0;
        return false;
    }
    return every_await(every.token, every.inode, every.options.timeout);
}

bool every_begin(void)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGHUP);
    sigprocmask(SIG_BLOCK, &held, &every.inherited);
    every.signals = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
    enum client_outcome outcome =
        every.signals < 0 ? CLIENT_ERROR : client_open(&every.client, command_spool());
    if (outcome == CLIENT_OK)
        outcome = client_connect(&every.client, client_until(every.options.timeout));
    if (outcome == CLIENT_OK)
        outcome = client_enter(&every.client, true);
    if (outcome != CLIENT_OK)
        command_say("%s", every.client.why);
    return outcome == CLIENT_OK;
}

bool every_put_thread(pid_t thread)
{
    if (client_attach(&every.client, every.name, thread) == CLIENT_OK)
        return true;
    command_say("%s", every.client.why);
    return false;
}

void every_renew(void)
{
    char file[CLIENT_NAME_MAX + sizeof ".json"];
    snprintf(file, sizeof file, "%s.json", every.name);
    utimensat(every.client.directory, file, NULL, AT_SYMLINK_NOFOLLOW);
    every.renewed = every_now();
}
