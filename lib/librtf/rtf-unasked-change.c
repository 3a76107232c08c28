#include "rtf-unasked-change.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rtf-verdict.h"

/* Sets the result of the handle from a new verdict that no call has asked for. Keeps the result of
 * the last call if the verdict does not contradict it. */
static void judge_change(struct rtf_spec_own *spec, const json_t *verdict, bool was_granted)
{
    static const char *const passing[] = {"no-broker", "detached"};
    const char *ended = client_string(verdict, "ended");
    bool was_lost = !was_granted;
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
        was_lost = was_lost || strcmp(spec->code, passing[i]) == 0;
    if (ended != NULL && strcmp(ended, "broker") == 0)
        (void)own_set_result(spec, RTF_CONNECTION_ERR, "no-broker",
                             client_string(verdict, "reason"));
    else if (!spec->granted)
        (void)own_take_verdict(spec, verdict);
    else if (spec->served && spec->thread == 0)
        (void)own_set_result(spec, RTF_ATTACH_FAIL, "detached", client_string(verdict, "reason"));
    else if (was_lost)
        (void)own_set_result(spec, RTF_OK, "", client_string(verdict, "reason"));
}

/* Reads a new verdict. If another program has rewritten the spec, the handle stands for the
 * rewritten spec. If the spec has ended, and another program has created a new spec with the same
 * name, the handle does not stand for the new spec. */
static void take_change(struct rtf_spec_own *spec, const json_t *verdict)
{
    const json_t *stamp = json_object_get(verdict, "spec");
    const char *request = client_string(verdict, "request");
    const ino_t inode = (ino_t)own_number(stamp, "inode");
    const bool was_granted = spec->granted;
    if (inode != 0 && inode != spec->inode && request != NULL && strcmp(request, "create") == 0) {
        (void)own_set_gone(spec, "the spec has ended, and another spec has its name");
        return;
    }
    if (inode != 0 && inode != spec->inode) {
        spec->inode = inode;
        own_forget_former(spec);
    }
    own_take_text(verdict, "time", spec->decided, sizeof spec->decided);
    own_take_grant(spec, json_object_get(verdict, "grant"), json_object_get(verdict, "thread"));
    spec->has_key = spec->thread != 0 && json_is_null(json_object_get(verdict, "tid"));
    judge_change(spec, verdict, was_granted);
}

/* Opens the present verdict, before the caller reads it. When the broker replaces this verdict, the
 * open file loses its last link, and so the next own_refresh notices the new verdict. */
static void hold_verdict(struct rtf_spec_own *spec, const struct client *client)
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

void own_look_for_changes(struct rtf_spec_own *spec, struct client *client)
{
    const struct client_wait wait = {.goal = CLIENT_NEWS, .name = spec->name, .interrupt = -1};
    struct client_verdict verdict = {0};
    own_read_answer(spec);
    const enum client_outcome outcome = client_look(client, &wait, &verdict);
    const char *decided = client_string(verdict.json, "time");
    if (outcome == CLIENT_GONE)
        (void)own_set_gone(spec, client->why);
    else if (outcome == CLIENT_OK && decided != NULL && strcmp(decided, spec->decided) != 0)
        take_change(spec, verdict.json);
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
        hold_verdict(spec, &client);
        own_look_for_changes(spec, &client);
    }
    pthread_mutex_unlock(&spec->lock);
}
