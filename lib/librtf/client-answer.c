#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client-own.h"

enum { VERDICT_MAX = 1 << 20 };

/* Reads the file to its end. With is_line, reads only the first line, because a verdict is one
 * line. Adds a final zero byte. NULL: the file is unreadable, or longer than VERDICT_MAX. The
 * caller frees the text. */
static char *read_text(int fd, bool is_line)
{
    size_t length = 0, size = 4096;
    char *text = malloc(size);
    while (text != NULL) {
        const ssize_t got = read(fd, text + length, size - length - 1);
        if (got < 0 || length + (size_t)got > VERDICT_MAX)
            break;
        length += (size_t)got;
        text[length] = '\0';
        const bool is_full = size - length == 1;
        if (got == 0 || (is_line && !is_full && text[length - 1] == '\n'))
            return text;
        if (!is_full)
            continue;
        char *more = realloc(text, size *= 2);
        if (more == NULL)
            break;
        text = more;
    }
    free(text);
    return NULL;
}

/* Opens the file with O_NONBLOCK, because a file lease or a FIFO of another user must not block the
 * caller. */
static char *read_file(int directory, const char *file, bool is_line)
{
    int fd = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    char *text = read_text(fd, is_line);
    close(fd);
    return text;
}

char *client_read_spec(const struct client *client, const char *name)
{
    char file[FILE_NAME];
    snprintf(file, sizeof file, "%s.json", name);
    return read_file(client->directory, file, false);
}

json_t *client_parse_object(const char *text)
{
    json_t *object = text == NULL ? NULL : json_loads(text, 0, NULL);
    if (json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

json_t *client_read_object(int directory, const char *file)
{
    char *text = read_file(directory, file, false);
    json_t *object = client_parse_object(text);
    free(text);
    return object;
}

/* True if the text of this verdict answers the request with the token, and grants everything. The
 * function does not parse the text, but searches for patterns such as "result":"OK". In a JSON
 * string a quote has a backslash before it, so the patterns can only match keys. rtf-verdict(5)
 * promises these keys. */
static bool grants(const char *text, const char *token)
{
    char key[CLIENT_TOKEN + sizeof "\"token\":\"\""];
    snprintf(key, sizeof key, "\"token\":\"%s\"", token);
    return strstr(text, key) != NULL && strstr(text, "\"result\":\"OK\"") != NULL &&
           strstr(text, "\"grant\":{") != NULL;
}

/* Reads NAME.verdict. False: no verdict, or not a JSON object. */
static bool read_verdict(const struct client *client, const struct client_wait *wait,
                         struct client_verdict *verdict)
{
    char file[FILE_NAME];
    snprintf(file, sizeof file, "%s.verdict", wait->name);
    *verdict = (struct client_verdict){.text = read_file(client->directory, file, true)};
    if (verdict->text != NULL && wait->unread && grants(verdict->text, wait->token))
        return true;
    verdict->json = client_parse_object(verdict->text);
    return verdict->json != NULL;
}

const char *client_string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

enum { THREAD_NAMED = 160 };

/* Writes the id and the name of a thread: "thread 4711 (camera)". The name may have any byte,
 * because the program of the thread chooses it. */
static void name_thread(pid_t thread, char text[static THREAD_NAMED])
{
    char path[48], name[20], printable[THREAD_NAMED - 32];
    snprintf(path, sizeof path, "/proc/%d/comm", (int)thread);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? 0 : read(fd, name, sizeof name - 1);
    if (fd >= 0)
        close(fd);
    name[length > 0 ? length : 0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    snprintf(text, THREAD_NAMED, name[0] == '\0' ? "thread %d" : "thread %d (%s)", (int)thread,
             client_printable(name, printable, sizeof printable));
}

/* True if the thread has ended. thread: an id in the broker's pid namespace. A caller in another
 * namespace cannot check this id. But when a thread has ended, the key "thread" of the verdict is
 * null. */
static bool has_ended(pid_t thread)
{
    return client_in_first_namespace() && kill(thread, 0) != 0 && errno == ESRCH;
}

enum client_outcome client_find_abandoned(struct client *client, const char *name, ino_t *inode)
{
    struct stat spec;
    struct client_verdict verdict;
    if (!client_entry(client, name, "json", &spec))
        return client_fail(client, CLIENT_GONE, "there is no spec %s in %s/specs/%s", name,
                           client->spool, client->user);
    *inode = spec.st_ino;
    const struct client_wait wait = {.name = name};
    if (!read_verdict(client, &wait, &verdict)) {
        client_free_verdict(&verdict);
        return client_fail(client, CLIENT_TAKEN, "%s/specs/%s/%s.json has no answer yet",
                           client->spool, client->user, name);
    }
    const pid_t thread =
        (pid_t)json_integer_value(json_object_get(json_object_get(verdict.json, "thread"), "tid"));
    client_free_verdict(&verdict);
    if (thread <= 0 || has_ended(thread))
        return CLIENT_OK;
    char named[THREAD_NAMED];
    name_thread(thread, named);
    return client_fail(client, CLIENT_TAKEN,
                       "%s/specs/%s/%s.json exists, and %s runs under it: 'rtf release %s' ends it",
                       client->spool, client->user, name, named, name);
}

void client_tell_holder(struct client *client, const char *name, const char *cure)
{
    ino_t inode;
    const enum client_outcome outcome = client_find_abandoned(client, name, &inode);
    if (outcome == CLIENT_OK)
        client_fail(
            client, CLIENT_TAKEN,
            "%s/specs/%s/%s.json exists, and no thread runs under it: %s'rtf release %s' ends it",
            client->spool, client->user, name, cure, name);
    else if (outcome == CLIENT_GONE)
        client_fail(client, CLIENT_TAKEN,
                    "%s/specs/%s/%s.json existed, and has just ended: try again", client->spool,
                    client->user, name);
}

/* True if the stamp in a verdict describes this file. A stamp is the inode and the change time of a
 * file; a file that was replaced or rewritten has another inode or time. */
static bool stamped(const json_t *stamp, const struct stat *status)
{
    const struct timespec *time = &status->st_ctim;
    char changed[40];
    const char *text = client_string(stamp, "changed");
    snprintf(changed, sizeof changed, "%lld.%09ld", (long long)time->tv_sec, time->tv_nsec);
    return text != NULL && strcmp(text, changed) == 0 &&
           json_integer_value(json_object_get(stamp, "inode")) == (json_int_t)status->st_ino;
}

/* ---- the thread that holds the reservation ---- */

/* True if NAME.tid, or else the key "attach", names the thread with this inode
 * (client_thread_inode). In other pid namespaces than the first, only the inode tells whether two
 * numbers mean the same thread. */
static bool names_inode(const struct client *client, const char *name, uint64_t inode)
{
    char file[FILE_NAME];
    unsigned long long found = 0;
    snprintf(file, sizeof file, "%s.tid", name);
    char *text = read_file(client->directory, file, true);
    if (text != NULL)
        (void)sscanf(text, "%*d inode=%llu", &found);
    free(text);
    snprintf(file, sizeof file, "%s.json", name);
    json_t *spec = found != 0 ? NULL : client_read_object(client->directory, file);
    if (spec != NULL)
        found = (unsigned long long)json_integer_value(
            json_object_get(json_object_get(spec, "attach"), "inode"));
    json_decref(spec);
    return found == inode;
}

/* Returns the thread in NAME.tid, if the broker has not answered this NAME.tid yet; 0: there is no
 * such NAME.tid. */
static pid_t asks_already(const struct client *client, const char *name, const json_t *verdict)
{
    char file[FILE_NAME];
    struct stat status;
    if (!client_entry(client, name, "tid", &status) ||
        stamped(json_object_get(verdict, "tid"), &status))
        return 0;
    snprintf(file, sizeof file, "%s.tid", name);
    char *text = read_file(client->directory, file, true);
    const pid_t thread = text == NULL ? 0 : (pid_t)strtol(text, NULL, 10);
    free(text);
    return thread;
}

enum client_outcome client_find_free(struct client *client, const char *name, pid_t thread)
{
    const struct client_wait wait = {.name = name};
    struct client_verdict verdict;
    char named[THREAD_NAMED];
    (void)read_verdict(client, &wait, &verdict);
    pid_t holder =
        (pid_t)json_integer_value(json_object_get(json_object_get(verdict.json, "thread"), "tid"));
    if (holder == 0)
        holder = asks_already(client, name, verdict.json);
    client_free_verdict(&verdict);
    const uint64_t inode = client_thread_inode(thread);
    const bool is_same = inode == 0 ? holder == thread : names_inode(client, name, inode);
    if (holder <= 0 || is_same || has_ended(holder))
        return CLIENT_OK;
    name_thread(holder, named);
    return client_fail(client, CLIENT_TAKEN, "%s has the reservation %s: detach that thread first",
                       named, name);
}

/* For a wait while there is no NAME.tid: true if the broker had also seen no NAME.tid, or the
 * removal of NAME.tid, when it wrote the verdict. */
static bool answers_no_tid(const json_t *json)
{
    const json_t *stamp = json_object_get(json, "tid");
    const char *request = client_string(json, "request");
    return stamp == NULL || json_is_null(stamp) ||
           (request != NULL && (strcmp(request, "detach") == 0 || strcmp(request, "exit") == 0));
}

/* True if the stamps in the verdict describe the present files NAME.json (`spec`) and NAME.tid
 * (`tid`). NULL: there is no such file. */
static bool answers(const json_t *json, const struct stat *spec, const struct stat *tid)
{
    const json_t *stamp = json_object_get(json, "spec");
    if (spec == NULL && tid == NULL)
        return false;
    if (spec != NULL ? !stamped(stamp, spec) : stamp != NULL && !json_is_null(stamp))
        return false;
    return tid != NULL ? stamped(json_object_get(json, "tid"), tid) : answers_no_tid(json);
}

/* The state of NAME.json and NAME.tid. see() looks at the files when their state is first needed,
 * and only once. */
struct files {
    bool seen, has_spec, has_tid;
    struct stat spec, tid;
};

static void see(const struct client *client, const char *name, struct files *files)
{
    if (files->seen)
        return;
    files->has_spec = client_entry(client, name, "json", &files->spec);
    files->has_tid = client_entry(client, name, "tid", &files->tid);
    files->seen = true;
}

/* True if this verdict answers the request. The answer to an unreadable spec has no token. Then the
 * stamps in the answer decide, as in a wait without a token. */
static bool wanted(const struct client *client, const struct client_wait *wait, const json_t *json,
                   struct files *files)
{
    const char *token = client_string(json, "token");
    const char *result = client_string(json, "result");
    if (wait->token != NULL && token != NULL)
        return strcmp(token, wait->token) == 0;
    if (wait->token != NULL && (result == NULL || strcmp(result, "BAD_SPEC") != 0))
        return false;
    see(client, wait->name, files);
    return answers(json, files->has_spec ? &files->spec : NULL,
                   files->has_tid ? &files->tid : NULL);
}

static bool is_pending(const json_t *json)
{
    const char *state = client_string(json_object_get(json, "thread"), "state");
    return state != NULL && strcmp(state, "pending") == 0;
}

/* True for the last verdict of a broker that stops. This verdict is no answer to a request: it has
 * replaced the answer, and the answer may have been a refusal. */
static bool is_farewell(const json_t *json)
{
    const char *ended = client_string(json, "ended");
    return ended != NULL && strcmp(ended, "broker") == 0;
}

/* True if the request was refused for now and the broker will try again. */
static bool is_waiting(struct client *client, const json_t *json)
{
    const char *result = client_string(json, "result"), *reason = client_string(json, "reason");
    if (result == NULL || strcmp(result, "WAITING") != 0)
        return false;
    snprintf(client->waits_for, sizeof client->waits_for, "; the spec waits: %.400s",
             reason == NULL ? "?" : reason);
    return true;
}

/* True if this verdict ends the wait. The verdict answers the present files. */
static bool is_enough(const struct client_wait *wait, const json_t *json)
{
    switch (wait->goal) {
    case CLIENT_ANSWER: return !is_farewell(json) && !(wait->attached && is_pending(json));
    case CLIENT_GRANT: return json_is_object(json_object_get(json, "grant"));
    case CLIENT_NEWS:
    case CLIENT_END: break;
    }
    return false;
}

/* Returns CLIENT_OK once NAME.json, NAME.tid and the verdict are removed. If the name of the
 * verdict belongs to something else than a regular file, the broker has not made it, and it does
 * not count. */
static enum client_outcome look_for_end(const struct client *client, const struct client_wait *wait)
{
    struct stat status;
    if (client_entry(client, wait->name, "json", &status) ||
        client_entry(client, wait->name, "tid", &status))
        return CLIENT_PENDING;
    return client_entry(client, wait->name, "verdict", &status) && S_ISREG(status.st_mode) &&
                   !client_has_moved(client)
               ? CLIENT_PENDING
               : CLIENT_OK;
}

/* True if an answer ends the wait. False leaves nothing for the caller to free. */
static bool has_answer(struct client *client, const struct client_wait *wait,
                       struct client_verdict *verdict, struct files *files)
{
    const bool is_there = read_verdict(client, wait, verdict);
    if (is_there && (verdict->json == NULL || wait->goal == CLIENT_NEWS))
        return true;
    if (is_there && wanted(client, wait, verdict->json, files) &&
        !(is_waiting(client, verdict->json) && wait->goal == CLIENT_ANSWER) &&
        is_enough(wait, verdict->json))
        return true;
    client_free_verdict(verdict);
    return false;
}

enum client_outcome client_glance(struct client *client, const struct client_wait *wait,
                                  struct client_verdict *verdict)
{
    struct files files = {.seen = false};
    if (wait->goal == CLIENT_END)
        return look_for_end(client, wait);
    if (has_answer(client, wait, verdict, &files))
        return CLIENT_OK;
    if (wait->inode != 0 && client_inode(client, wait->name) == wait->inode)
        return CLIENT_PENDING;
    if (wait->inode != 0)
        return client_fail(client, CLIENT_GONE, "the spec %s was removed or replaced", wait->name);
    see(client, wait->name, &files);
    if (!files.has_spec && !files.has_tid)
        return client_fail(client, CLIENT_GONE, "there is no spec %s in %s/specs/%s", wait->name,
                           client->spool, client->user);
    return CLIENT_PENDING;
}

enum client_outcome client_look(struct client *client, const struct client_wait *wait,
                                struct client_verdict *verdict)
{
    const enum client_outcome outcome = client_glance(client, wait, verdict);
    if (wait->goal != CLIENT_END && (outcome == CLIENT_PENDING || outcome == CLIENT_GONE) &&
        client_has_moved(client))
        return client_fail(client, CLIENT_GONE,
                           "the broker has not accepted the directory %s/specs/%s", client->spool,
                           client->user);
    return outcome;
}

void client_free_verdict(struct client_verdict *verdict)
{
    json_decref(verdict->json);
    free(verdict->text);
    *verdict = (struct client_verdict){0};
}
