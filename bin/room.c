#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "client-dnotify.h"

struct room {
    struct client *client;
    const char *name;
    int64_t until; /* the time at which the wait ends, from client_until */
    sigset_t inherited;
    int signals, timer;
    /* reports changes of the spool's directory: the broker puts a new status.json there when
     * reservations have changed */
    struct dnotify changes;
};

static enum client_outcome fail(const struct room *room, enum client_outcome outcome,
                                const char *what)
{
    snprintf(room->client->why, sizeof room->client->why, "%s: %s", what, strerror(errno));
    return outcome;
}

/* Returns the text of the user's spec, with this token, without its thread, and with the key
 * "dry_run" (the broker only answers). The caller frees the text. NULL: the spec cannot be read. */
static char *dry_text(const struct room *room, const char *token)
{
    char file[NAME_MAX + 1];
    snprintf(file, sizeof file, "%s.json", room->name);
    int fd = openat(room->client->directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    json_t *spec = fd < 0 ? NULL : json_loadfd(fd, 0, NULL);
    if (fd >= 0)
        close(fd);
    static const char *const not_now[] = {"attach", "lifetime", "on_refusal", "expires"};
    for (size_t i = 0; i < sizeof not_now / sizeof *not_now; i++)
        json_object_del(spec, not_now[i]);
    json_object_set_new(spec, "dry_run", json_true());
    json_object_set_new(spec, "token", json_string(token));
    char *text = json_is_object(spec) ? json_dumps(spec, JSON_COMPACT) : NULL;
    json_decref(spec);
    return text;
}

/* Asks the broker with one dry run, under a name that only this process uses. Removes the dry run
 * from the spool before the function returns. */
static enum client_outcome ask(const struct room *room, struct client_verdict *verdict)
{
    char name[CLIENT_NAME_MAX + 1], token[CLIENT_TOKEN];
    ino_t inode = 0;
    char *text = client_make_token(token) ? dry_text(room, token) : NULL;
    if (text == NULL) {
        snprintf(room->client->why, sizeof room->client->why,
                 "there is no spec %s that can be read", room->name);
        return CLIENT_GONE;
    }
    snprintf(name, sizeof name, "room-%d", getpid());
    enum client_outcome outcome = client_put(room->client, name, text, &inode);
    free(text);
    struct client_wait wait = {.name = name,
                               .token = token,
                               .inode = inode,
                               .until = room->until,
                               .interrupt = room->signals};
    if (outcome != CLIENT_OK)
        return outcome;
    outcome = client_wait(room->client, &wait, verdict);
    client_withdraw(room->client, name, inode);
    return outcome;
}

/* True if the wait is over, because the end of other reservations cannot change the answer: the
 * broker would grant the spec now, or the spec is wrong, or the rules forbid the spec. */
static bool is_settled(const struct client_verdict *verdict)
{
    const char *retry = client_string(json_object_get(verdict->json, "refusal"), "retry");
    return json_is_object(json_object_get(verdict->json, "would_grant")) || retry == NULL ||
           strcmp(retry, "when-freed") != 0;
}

/* Sleeps until the broker's reservations have changed, and then returns CLIENT_PENDING. */
static enum client_outcome doze(const struct room *room)
{
    struct pollfd fds[] = {{.fd = room->changes.ready, .events = POLLIN},
                           {.fd = room->client->alive},
                           {.fd = room->timer, .events = POLLIN},
                           {.fd = room->signals, .events = POLLIN}};
    do {
        if (poll(fds, sizeof fds / sizeof *fds, -1) < 0 && errno != EINTR)
            return fail(room, CLIENT_ERROR, "poll");
        if (fds[3].revents != 0)
            return CLIENT_INTERRUPTED;
        if (fds[1].revents != 0) {
            snprintf(room->client->why, sizeof room->client->why, "the broker on %s has ended",
                     room->client->spool);
            return CLIENT_NO_BROKER;
        }
        if (fds[2].revents != 0) {
            snprintf(room->client->why, sizeof room->client->why,
                     "no room for %s within the time allowed", room->name);
            return CLIENT_TIMEOUT;
        }
    } while (fds[0].revents == 0);
    /* forgets old changes before the next dry run, so that a change after the answer ends the next
     * sleep */
    dnotify_drain(&room->changes);
    return CLIENT_PENDING;
}

/* Begins to watch the spool. The watch begins before the first dry run, so that a reservation that
 * ends after the answer wakes doze(). */
static enum client_outcome begin(struct room *room)
{
    static const int fatal[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigaddset(&held, fatal[i]);
    sigprocmask(SIG_BLOCK, &held, &room->inherited);
    room->signals = signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
    room->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    const struct itimerspec end = {
        .it_value = {.tv_sec = room->until / 1000000, .tv_nsec = room->until % 1000000 * 1000}};
    if (room->signals < 0 || timerfd_settime(room->timer, TFD_TIMER_ABSTIME, &end, NULL) != 0 ||
        !dnotify_begin(&room->changes, room->client->root, DNOTIFY_BESIDE, DN_CREATE | DN_RENAME))
        return fail(room, CLIENT_ERROR, "cannot wait for room");
    return CLIENT_PENDING;
}

static void end(struct room *room)
{
    const int fds[] = {room->signals, room->timer};
    dnotify_end(&room->changes);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    /* if a signal is pending, it ends this process here */
    sigprocmask(SIG_SETMASK, &room->inherited, NULL);
}

enum client_outcome client_wait_for_room(struct client *client, const char *name, int64_t until,
                                         struct client_verdict *verdict)
{
    struct room room = {.client = client,
                        .name = name,
                        .until = until,
                        .signals = -1,
                        .timer = -1,
                        .changes = NO_DNOTIFY};
    enum client_outcome outcome = begin(&room);
    while (outcome == CLIENT_PENDING) {
        outcome = ask(&room, verdict);
        if (outcome == CLIENT_OK && !is_settled(verdict)) {
            client_free_verdict(verdict);
            outcome = doze(&room);
        }
    }
    end(&room);
    return outcome;
}
