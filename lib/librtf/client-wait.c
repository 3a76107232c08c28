#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "client-dnotify.h"
#include "client-own.h"

/* Reads all events. Returns true if the watched directory may be gone. */
static bool drain(int events, int directory)
{
    const uint32_t gone = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED;
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    ssize_t got;
    bool has = false;
    do {
        got = read(events, buffer, sizeof buffer);
        for (ssize_t at = 0; at < got;) {
            const struct inotify_event *event = (const void *)(buffer + at);
            at += (ssize_t)(sizeof *event + event->len);
            has = has || (event->wd == directory && (event->mask & gone) != 0) ||
                  (event->mask & IN_Q_OVERFLOW) != 0;
        }
        /* if a read fills less than half of the buffer, no event is left, because any event fits
         * into half a buffer */
    } while (got > (ssize_t)(sizeof buffer / 2));
    return has;
}

static void unwatch(int events, int *watch)
{
    if (*watch >= 0)
        inotify_rm_watch(events, *watch);
    *watch = -1;
}

static bool hears(const struct client *client, const struct client_watch *watch)
{
    return watch->directory >= 0 && watch->inode == client->inode;
}

/* Watches the open directory, and not its name, which may lead to another directory by now. An
 * existing watch gets the new mask. */
static void watch_directory(const struct client *client, struct client_watch *watch, uint32_t more)
{
    static const uint32_t end = IN_ONLYDIR | IN_DELETE_SELF | IN_MOVE_SELF,
                          names = IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
    char path[32];
    if (!hears(client, watch))
        unwatch(watch->events, &watch->directory);
    snprintf(path, sizeof path, "/proc/self/fd/%d", client->directory);
    watch->directory =
        inotify_add_watch(watch->events, path, end | (watch->wide ? names : 0) | more);
    watch->inode = client->inode;
}

bool client_begin_watch(struct client *client, bool wide)
{
    struct client_watch *watch = &client->watch;
    unwatch(watch->events, &watch->spec);
    const bool lost = drain(watch->events, watch->directory) || !hears(client, watch);
    const bool same = watch->wide == wide;
    watch->wide = wide;
    if (lost)
        unwatch(watch->events, &watch->directory);
    if (lost || !same)
        watch_directory(client, watch, 0);
    return lost;
}

/* Watches one spec by the inode of its file, so that other specs of this user do not wake the
 * caller. The awaited event: the broker closes the file after it has written the answer. */
static bool watch_spec(const struct client *client, const struct client_wait *wait,
                       struct client_watch *watch)
{
    char path[PATH_MAX];
    if (!hears(client, watch))
        watch_directory(client, watch, 0);
    if (watch->directory < 0 || watch->wide)
        return watch->directory >= 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s.json", client->directory, wait->name);
    const uint32_t mask = IN_DONT_FOLLOW | IN_CLOSE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
    watch->spec = inotify_add_watch(watch->events, path, mask);
    return watch->spec >= 0;
}

/* Watches all files of the directory, with one watch on the directory. */
static bool watch_files(const struct client *client, struct client_watch *watch)
{
    watch_directory(client, watch,
                    IN_ATTRIB | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO);
    return watch->directory >= 0;
}

/* A wait begins with dnotify, which reports every file in the directory. After FIRST (us), or after
 * OTHERS_MOST changes of other files, an inotify watch replaces dnotify. inotify reports only one
 * spec, and the end of the directory. A wait does not begin with inotify, because such a watch
 * costs more to begin and to end. */
enum { FIRST = 1000000, OTHERS_MOST = 8 };

/* The source of events for a wait. This is the watch of the caller if the caller has one. Otherwise
 * it is at first dnotify, and later an inotify watch that this wait makes. */
struct sight {
    struct client_watch watch;
    struct dnotify changes;
    int64_t change_at; /* the time to replace dnotify by a watch; 0: never */
    int others;        /* how many changes of other files dnotify has reported */
    bool is_kept;      /* true: the watch belongs to the caller */
    bool heard;        /* true: the directory's end has been watched since before the request */
    bool answers;      /* true: all answers have been watched since before the request */
};

static bool set_watches(const struct client *client, const struct client_wait *wait,
                        struct client_watch *watch)
{
    return watch->events >= 0 &&
           (wait->inode != 0 ? watch_spec(client, wait, watch) : watch_files(client, watch));
}

/* Makes an inotify instance for this wait, with its watches. False: errno says why; the caller has
 * nothing to close. */
static bool begin_own_watch(const struct client *client, const struct client_wait *wait,
                            struct client_watch *watch)
{
    *watch = (struct client_watch){.events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC),
                                   .directory = -1,
                                   .spec = -1};
    if (set_watches(client, wait, watch))
        return true;
    const int reason = errno;
    if (watch->events >= 0)
        close(watch->events);
    watch->events = -1;
    errno = reason;
    return false;
}

static void end_sight(struct client *client, const struct client_wait *wait, struct sight *sight)
{
    dnotify_end(&sight->changes);
    if (!sight->is_kept) {
        if (sight->watch.events >= 0)
            close(sight->watch.events);
        return;
    }
    if (wait->inode == 0 && !sight->watch.wide) /* restores the mask of the caller's watch */
        watch_directory(client, &sight->watch, 0);
    client->watch = sight->watch;
}

static bool begin_kept_sight(struct client *client, const struct client_wait *wait,
                             struct sight *sight)
{
    sight->heard = hears(client, &sight->watch);
    sight->answers = sight->heard && sight->watch.wide && wait->inode != 0;
    /* a wide watch (client_begin_watch) reports each verdict, and does not wake the caller before
     * the verdict is there */
    if (sight->heard && sight->watch.wide)
        return true;
    if (set_watches(client, wait, &sight->watch))
        return true;
    const int reason = errno;
    end_sight(client, wait, sight);
    errno = reason;
    return false;
}

static bool begin_sight(struct client *client, const struct client_wait *wait, struct sight *sight)
{
    static const unsigned names = DN_CREATE | DN_DELETE | DN_RENAME,
                          files = names | DN_ATTRIB | DN_MODIFY;
    *sight = (struct sight){.watch = client->watch,
                            .changes = NO_DNOTIFY,
                            .is_kept = client->watch.events >= 0};
    if (sight->is_kept)
        return begin_kept_sight(client, wait, sight);
    if (!dnotify_begin(&sight->changes, client->directory, DNOTIFY_WAIT,
                       wait->inode != 0 ? names : files))
        return begin_own_watch(client, wait, &sight->watch);
    sight->change_at = client_until(FIRST);
    return true;
}

/* Replaces dnotify by an inotify watch. If the user may open no further inotify instance, the wait
 * goes on with dnotify. */
static void change_sight(const struct client *client, const struct client_wait *wait,
                         struct sight *sight)
{
    sight->change_at = 0;
    if (begin_own_watch(client, wait, &sight->watch))
        dnotify_end(&sight->changes);
}

static void see_anew(const struct sight *sight)
{
    if (sight->changes.ready >= 0)
        dnotify_drain(&sight->changes);
    else
        drain(sight->watch.events, -1);
}

/* Returns the time left until `until`; NULL: the wait has no limit. */
static const struct timespec *time_left(int64_t until, struct timespec *left)
{
    struct timespec now;
    if (until == 0)
        return NULL;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t us = until - ((int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    *left = us <= 0 ? (struct timespec){0}
                    : (struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    return left;
}

static bool is_over(int64_t until)
{
    struct timespec left;
    return time_left(until, &left) != NULL && left.tv_sec == 0 && left.tv_nsec == 0;
}

static bool is_to_change(const struct sight *sight)
{
    return sight->change_at != 0 && (sight->others > OTHERS_MOST || is_over(sight->change_at));
}

/* Writes the sentence for a wait that reached its time limit. */
static enum client_outcome no_answer(struct client *client, const struct client_wait *wait)
{
    static const char *const over[] = {[CLIENT_ANSWER] =
                                           "no answer to %s within the time allowed%s",
                                       [CLIENT_GRANT] =
                                           "%s has not been granted within the time allowed%s",
                                       [CLIENT_END] = "%s has not ended within the time allowed%s"};
    return client_fail(client, CLIENT_TIMEOUT, over[wait->goal], wait->name, client->waits_for);
}

/* Sleeps until an event. CLIENT_PENDING: the caller looks for the answer, and may sleep again. Any
 * other outcome: the caller looks for the answer for the last time. */
static enum client_outcome doze(struct client *client, const struct client_wait *wait,
                                const struct sight *sight)
{
    const int events = sight->changes.ready >= 0 ? sight->changes.ready : sight->watch.events;
    const int64_t until =
        sight->change_at != 0 && (wait->until == 0 || sight->change_at < wait->until)
            ? sight->change_at
            : wait->until;
    struct pollfd fds[] = {{.fd = events, .events = POLLIN},
                           {.fd = client->alive},
                           {.fd = wait->interrupt, .events = POLLIN}};
    struct timespec left;
    const int ready = ppoll(fds, sizeof fds / sizeof *fds, time_left(until, &left), NULL);
    if (ready < 0)
        return errno == EINTR ? CLIENT_PENDING
                              : client_fail(client, CLIENT_ERROR, "poll: %s", strerror(errno));
    if (fds[2].revents != 0)
        return client_fail(client, CLIENT_INTERRUPTED, "interrupted");
    if (fds[1].revents != 0)
        return client_fail(client, CLIENT_NO_BROKER, "the broker on %s ended before it answered",
                           client->spool);
    /* checks the time after each event, because a stream of other events must not extend the
     * wait */
    return is_over(wait->until) ? no_answer(client, wait) : CLIENT_PENDING;
}

/* Looks for the answer, and sleeps between two looks. The watches are set before the first look, so
 * an answer between a look and the next sleep ends that sleep. Events are drained only after a look
 * without an answer, so no event is lost. */
static enum client_outcome watch(struct client *client, const struct client_wait *wait,
                                 struct sight *sight, struct client_verdict *verdict)
{
    enum client_outcome end = CLIENT_PENDING;
    enum client_outcome seen = CLIENT_PENDING;
    if (!sight->answers)
        seen = sight->heard ? client_glance(client, wait, verdict)
                            : client_look(client, wait, verdict);
    while (seen == CLIENT_PENDING) {
        /* the sentence is written only now, because it has waits_for, and the last look may have
         * set waits_for */
        if (end == CLIENT_TIMEOUT)
            return no_answer(client, wait);
        if (end != CLIENT_PENDING)
            return end;
        end = doze(client, wait, sight);
        if (end == CLIENT_INTERRUPTED)
            return end;
        seen = client_glance(client, wait, verdict);
        if (seen != CLIENT_PENDING)
            break;
        see_anew(sight);
        sight->others++;
        if (is_to_change(sight))
            change_sight(client, wait, sight);
        seen = client_look(client, wait, verdict);
    }
    return seen;
}

enum client_outcome client_wait(struct client *client, const struct client_wait *wait,
                                struct client_verdict *verdict)
{
    struct sight sight;
    enum client_outcome outcome = CLIENT_PENDING;
    /* looks for the answer before it sets watches, because a broker with a higher priority on the
     * same CPU may have answered already */
    if (!client->watch.wide || wait->inode == 0)
        outcome = client_glance(client, wait, verdict);
    if (outcome != CLIENT_PENDING)
        return outcome;
    if (begin_sight(client, wait, &sight)) {
        outcome = watch(client, wait, &sight, verdict);
        end_sight(client, wait, &sight);
        return outcome;
    }
    const int reason = errno;
    /* no watch can be set, perhaps because the file was removed: looks for the answer for the last
     * time */
    outcome = client_look(client, wait, verdict);
    return outcome != CLIENT_PENDING ? outcome
                                     : client_fail(client, CLIENT_ERROR, "cannot wait for %s: %s",
                                                   wait->name, strerror(reason));
}
