#include "noticing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "files.h"
#include "spool.h"

/* A file of a wish's that is waited for. */
struct awaited {
    int watch;          /* of inotify; or UNWATCHED */
    int64_t look_at;    /* looks by itself then, CLOCK_MONOTONIC; INT64_MAX: no more */
    int64_t look_pause;
    struct wish *wish;
    UT_hash_handle hh;  /* by watch */
};

static struct user *users_by_watch;
static struct awaited *awaited_files;
static TAILQ_HEAD(, wish) handed_wishes = TAILQ_HEAD_INITIALIZER(handed_wishes); /* of one event, one by one */
static int inotify = -1, specs_watch = -1;
static void (*tell_noise)(struct user *user, unsigned events);

static const uint32_t directory_events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB;

/* ---- directories ---- */

bool spool_watch(struct source *source, void (*noise)(struct user *user, unsigned events))
{
    char path[64];
    tell_noise = noise;
    inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", spool.specs);
    specs_watch = inotify < 0 ? -1 : inotify_add_watch(inotify, path, IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ATTRIB | IN_ONLYDIR);
    return specs_watch >= 0 && loop_add(inotify, EPOLLIN, source);
}

bool spool_user_watch(struct user *user)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", user->directory);
    struct user *other = NULL;
    int watch = inotify_add_watch(inotify, path, directory_events | IN_ONLYDIR | IN_EXCL_UNLINK);
    if (watch >= 0)
        HASH_FIND(hh_watch, users_by_watch, &watch, sizeof watch, other);
    if (watch < 0 || other != NULL) /* it was called otherwise a moment ago, and that name has not been looked at yet */
        return false;
    user->watch = watch;
    HASH_ADD(hh_watch, users_by_watch, watch, sizeof user->watch, user);
    return true;
}

void spool_user_unwatch(struct user *user)
{
    if (user->watch < 0)
        return;
    HASH_DELETE(hh_watch, users_by_watch, user);
    (void)inotify_rm_watch(inotify, user->watch);
    user->watch = -1;
}

bool spool_user_is_watched(const struct user *user)
{
    return user->watch >= 0 && user->look_at == 0;
}

bool spool_user_is_heard(const struct user *user)
{
    return spool_user_is_watched(user) && !user->scanned;
}

bool spool_user_is_followed(const struct user *user)
{
    return user->watch >= 0 || user->look_at != 0 || user->scanned;
}

/* ---- files that are waited for ---- */

static const int64_t first_look = 1000000, last_look = 512000000; /* ns */
enum { UNWATCHED = -2 }; /* the user's or the machine's watches are used up */

void spool_forget(struct wish *wish)
{
    spool_forget_busy(wish);
    if (wish->handed)
        TAILQ_REMOVE(&handed_wishes, wish, of_handed);
    wish->handed = false;
}

void spool_forget_busy(struct wish *wish)
{
    struct awaited *awaited = wish->awaited, *other;
    if (awaited == NULL)
        return;
    HASH_DEL(awaited_files, awaited);
    HASH_FIND_INT(awaited_files, &awaited->watch, other);
    if (other == NULL && awaited->watch != UNWATCHED)
        (void)inotify_rm_watch(inotify, awaited->watch);
    wish->awaited = NULL;
    free(awaited);
}

/* NULL: the file is gone again, and its event is on the way. */
static struct awaited *await(struct wish *wish, const char *ending)
{
    char joined[NAME_MAX + 1], path[64];
    if (wish->awaited != NULL)
        return wish->awaited;
    int fd = spool_open_plain(wish->user->directory, file_name(joined, wish->name, ending), O_PATH);
    if (fd < 0 && errno == ENOENT)
        return NULL;
    struct awaited *awaited = calloc(1, sizeof *awaited);
    if (awaited == NULL)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    awaited->wish = wish;
    awaited->look_at = INT64_MAX;
    awaited->watch = fd < 0 ? -1 : inotify_add_watch(inotify, path, IN_CLOSE_WRITE | IN_ATTRIB);
    if (awaited->watch < 0)
        awaited->watch = UNWATCHED;
    if (fd >= 0)
        close(fd);
    HASH_ADD_INT(awaited_files, watch, awaited);
    wish->awaited = awaited;
    return awaited;
}

void spool_watch_busy(struct wish *wish, const char *ending, enum file_state state)
{
    struct awaited *awaited = await(wish, ending);
    if (awaited == NULL)
        return;
    bool for_ever = state == FILE_UNSEEN || awaited->watch == UNWATCHED;
    if (awaited->look_pause == 0)
        awaited->look_pause = first_look;
    else if (awaited->look_pause > last_look && for_ever)
        awaited->look_pause = last_look;
    awaited->look_at = awaited->look_pause > last_look ? INT64_MAX : monotonic_now() + awaited->look_pause;
    awaited->look_pause *= 2;
}

bool spool_watch_links(struct wish *wish)
{
    bool already = wish->awaited != NULL;
    struct awaited *awaited = await(wish, ".json");
    if (awaited != NULL && !already && awaited->watch == UNWATCHED)
        awaited->look_at = monotonic_now() + last_look;
    struct stamp now = spool_stamp(wish->user, wish->name, ".json", NULL);
    return stamp_equal(&now, &wish->judged) || awaited == NULL || awaited->watch == UNWATCHED;
}

bool spool_is_watched(const struct wish *wish)
{
    return wish->awaited != NULL && wish->awaited->watch != UNWATCHED;
}

int64_t spool_busy_deadline(void)
{
    int64_t earliest = INT64_MAX;
    for (const struct awaited *awaited = awaited_files; awaited != NULL; awaited = awaited->hh.next)
        if (awaited->look_at < earliest)
            earliest = awaited->look_at;
    return earliest;
}

struct wish *spool_busy_due(int64_t now)
{
    for (struct awaited *awaited = awaited_files; awaited != NULL; awaited = awaited->hh.next)
        if (awaited->look_at <= now) {
            awaited->look_at = INT64_MAX;
            return awaited->wish;
        }
    return NULL;
}

/* ---- events ---- */

/* Room for the whole queue of the kernel: what is in it of one who floods it must be known at once, before it is full again. */
static char event_bytes[1024 * 1024] __attribute__((aligned(__alignof__(struct inotify_event))));
static size_t event_length, event_taken;
static bool events_drained; /* the last reading had room for more */

static void count_noise(void)
{
    struct user *user = NULL;
    unsigned events = 0;
    int watch = -1;
    for (size_t at = 0; at < event_length;) {
        const struct inotify_event *raw = (const void *)(event_bytes + at);
        at += sizeof *raw + raw->len;
        if (raw->wd == watch) {
            events++;
            continue;
        }
        if (user != NULL)
            tell_noise(user, events);
        events = 1;
        watch = raw->wd;
        HASH_FIND(hh_watch, users_by_watch, &watch, sizeof watch, user);
    }
    if (user != NULL)
        tell_noise(user, events);
}

/* All wishes of a file that was watched: taken from the watch first, for looking at one may watch it again. */
static bool hand_out(int watch)
{
    struct awaited *awaited;
    bool any = false;
    for (;;) {
        HASH_FIND_INT(awaited_files, &watch, awaited);
        if (awaited == NULL)
            return any;
        struct wish *wish = awaited->wish;
        spool_forget_busy(wish);
        wish->handed = any = true;
        TAILQ_INSERT_TAIL(&handed_wishes, wish, of_handed);
    }
}

static bool take_handed(struct spool_event *event)
{
    struct wish *wish = TAILQ_FIRST(&handed_wishes);
    if (wish == NULL)
        return false;
    TAILQ_REMOVE(&handed_wishes, wish, of_handed);
    wish->handed = false;
    *event = (struct spool_event){.kind = SPOOL_WISH, .user = wish->user, .wish = wish};
    snprintf(event->name, sizeof event->name, "%s", wish->name);
    return true;
}

/* What tells nothing is an event, too: a turn is to end, however many of them there are. */
static void take_event(const struct inotify_event *raw, struct spool_event *event)
{
    *event = (struct spool_event){.kind = SPOOL_NOTHING};
    if ((raw->mask & IN_Q_OVERFLOW) != 0) {
        event->kind = SPOOL_OVERFLOW;
        return;
    }
    if (hand_out(raw->wd)) {
        (void)take_handed(event);
        return;
    }
    if (raw->wd == specs_watch && raw->len != 0 && raw->name[0] != '.') {
        event->kind = SPOOL_DIRECTORY;
        snprintf(event->name, sizeof event->name, "%s", raw->name);
        return;
    }
    HASH_FIND(hh_watch, users_by_watch, &raw->wd, sizeof raw->wd, event->user);
    if (event->user == NULL || raw->len == 0 || is_silent(raw->name))
        return;
    event->of_tid = wish_of_name(raw->name, ".tid", event->name);
    event->kind = event->of_tid || wish_of_name(raw->name, ".json", event->name) ? SPOOL_WISH : SPOOL_OTHER_NAME;
    /* What is there after a file went has not told of itself yet: open(2) makes a file before its IN_CREATE. */
    event->newborn = (raw->mask & (IN_CREATE | IN_DELETE | IN_MOVED_FROM)) != 0;
    if ((raw->mask & IN_CLOSE_WRITE) != 0)
        event->closed = event->of_tid ? OF_TID : OF_JSON;
    if (event->kind == SPOOL_OTHER_NAME && (raw->mask & (IN_CREATE | IN_MOVED_TO)) == 0)
        event->kind = SPOOL_NOTHING; /* told when it appeared */
    if (event->kind == SPOOL_OTHER_NAME)
        snprintf(event->name, sizeof event->name, "%s", raw->name);
}

bool spool_next(struct spool_event *event)
{
    if (take_handed(event))
        return true;
    if (event_taken >= event_length) {
        ssize_t got = events_drained ? 0 : read(inotify, event_bytes, sizeof event_bytes);
        events_drained = false;
        if (got <= 0)
            return false;
        event_length = (size_t)got;
        event_taken = 0;
        events_drained = event_length + sizeof(struct inotify_event) + NAME_MAX + 1 <= sizeof event_bytes;
        count_noise();
    }
    const struct inotify_event *raw = (const void *)(event_bytes + event_taken);
    event_taken += sizeof *raw + raw->len;
    take_event(raw, event);
    return true;
}
