#include "directories.h"

#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "event.h"
#include "order.h"
#include "spec.h"
#include "paragraph.h"
#include "wishes.h"

static bool held, rescanning, over_limit_told;
static int64_t rescan_at = INT64_MAX, last_rescan; /* a user can make the queue overflow: once a second is enough */

/* A name as it may stand in a log. */
static const char *shown(const char *name, char text[static 80])
{
    snprintf(text, 80, "%.76s", name);
    return paragraph_clean(text);
}

static void report(const struct user *user, const char *name, struct account *account, const char *decision, const char *reason)
{
    char text[80];
    struct event event = {.stage = "spool", .user = user, .name = shown(name, text), .decision = decision, .reason = reason, .microseconds = -1};
    event_write_rarely(&event, &account->rare_window, &account->rare_count);
}

static void link_to_account(struct user *user)
{
    user->account = account_find(user->uid);
    user->next_of_account = user->account->users;
    user->account->users = user;
}

static void unlink_from_account(struct user *user)
{
    for (struct user **at = &user->account->users; *at != NULL; at = &(*at)->next_of_account)
        if (*at == user) {
            *at = user->next_of_account;
            return;
        }
}

static bool is_named_for(const struct user *user)
{
    char decimal[16];
    snprintf(decimal, sizeof decimal, "%u", user->uid);
    return strcmp(user->name, decimal) == 0 || (user->account->name != NULL && strcmp(user->name, user->account->name) == 0);
}

/* What a scan has found, to be looked at in the order in which it came: what was first shall be asked first. */
struct find {
    uint64_t task;
    int64_t time; /* change time of the wish, ns; 0 when it has gone */
};
static struct find *finds;
static size_t find_count, find_room;

static void remember(const struct wish *wish)
{
    struct stamp stamp = spool_stamp(wish->user, wish->name, ".json");
    if (find_count == find_room) {
        find_room = find_room == 0 ? 64 : find_room * 2;
        finds = realloc(finds, find_room * sizeof *finds);
        if (finds == NULL)
            abort();
    }
    finds[find_count++] = (struct find){wish->task, stamp.seconds * 1000000000 + stamp.nanoseconds};
}

static int by_time(const void *one, const void *other)
{
    const struct find *a = one, *b = other;
    return a->time != b->time ? a->time < b->time ? -1 : 1 : a->task < b->task ? -1 : a->task > b->task;
}

static void look_at_finds(void)
{
    if (find_count == 0)
        return;
    qsort(finds, find_count, sizeof *finds, by_time);
    for (size_t i = 0; i < find_count; i++) {
        struct wish *wish = wish_of_task(finds[i].task);
        if (wish == NULL)
            continue;
        wish->written = true;
        wish->closed = OF_JSON | OF_TID;
        wish_queue(wish);
    }
    free(finds);
    finds = NULL;
    find_count = find_room = 0;
}

static void report_name(struct user *user, const char *name)
{
    report(user, name, user->account, "ignored", "a name is [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63} with .json or .tid behind it");
}

static void found(struct user *user, const char *name, bool other)
{
    if (other) {
        report_name(user, name);
        return;
    }
    if (wish_find(user, name, false) != NULL)
        return;
    struct wish *wish = wish_find(user, name, true);
    /* Beyond his limit one is told so, and the rest would be told the same. */
    if (wish->over_limit && over_limit_told)
        wish_forget(wish);
    else
        remember(wish);
    over_limit_told |= wish_find(user, name, false) != NULL && wish->over_limit;
}

/* All that is known of, whether its files are there or not, and all that is new. */
static void scan(struct user *user)
{
    if (held)
        return;
    for (const struct wish *wish = user->wishes; wish != NULL; wish = wish->hh.next)
        remember(wish);
    over_limit_told = false;
    spool_scan_user(user, found);
}

static void let_go(struct user *user)
{
    unlink_from_account(user);
    spool_user_close(user);
}

static void judge(struct user *user)
{
    char name[NAME_BYTES];
    struct account *account = user->account;
    if (account->state == ACCOUNT_FAILED) {
        report(user, user->name, account, "ignored", "the account database does not answer");
        return;
    }
    if (!is_named_for(user)) {
        /* One that root made for somebody is given away in the next step: chown will call again. */
        if (user->uid == 0)
            return;
        snprintf(name, sizeof name, "%s", user->name);
        report(user, user->name, account, "refused", "moved aside: a directory in specs/ is named as its owner, or as his uid");
        let_go(user);
        (void)spool_move_aside(name, account->uid);
        return;
    }
    spool_user_adopt(user);
    scan(user);
    if (!rescanning)
        look_at_finds();
}

/* Another may have been renamed over it, or it may have been given away. */
static bool is_same_directory(const struct user *user)
{
    struct stat named, opened;
    return fstatat(spool.specs, user->name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(user->directory, &opened) == 0 &&
           named.st_ino == opened.st_ino && opened.st_uid == user->uid;
}

void directory_appeared(const char *name)
{
    uid_t uid;
    bool is_directory, exists;
    struct user *user = spool_user_find(name);
    if (user != NULL && user->adopted) {
        spool_user_adopt(user); /* its mode may have been opened to others */
        if (!is_same_directory(user))
            directory_gone(name);
        else
            return;
    } else if (user != NULL)
        let_go(user);
    user = spool_user_open(name, &uid, &is_directory, &exists);
    if (user == NULL && exists) {
        struct user stranger = {.uid = uid};
        report(&stranger, name, account_find(uid), "refused", "moved aside: only directories belong in specs/");
        if (!is_directory)
            (void)spool_move_aside(name, uid);
    }
    if (user == NULL)
        return;
    link_to_account(user);
    if (account_ready(user->account))
        judge(user);
}

void directory_gone(const char *name)
{
    struct wish *wish, *next;
    struct user *user = spool_user_find(name);
    if (user == NULL)
        return;
    unlink_from_account(user);
    spool_user_leave(user);
    if (user->wishes == NULL) {
        spool_user_close(user);
        return;
    }
    HASH_ITER(hh, user->wishes, wish, next)
        wish_queue(wish); /* all of them are gone; the last one takes the user along */
}

void directories_of(struct account *account)
{
    struct user *next;
    for (struct user *user = account->users; user != NULL; user = next) {
        next = user->next_of_account;
        if (!user->adopted)
            judge(user);
    }
}

void directories_rescan(void)
{
    struct user *user, *next;
    HASH_ITER(hh, spool_users(), user, next)
        if (user->adopted && !is_same_directory(user))
            directory_gone(user->name);
    rescanning = true;
    HASH_ITER(hh, spool_users(), user, next)
        if (user->adopted)
            scan(user);
    spool_scan_directories(directory_appeared); /* and with them what is in those that are new */
    rescanning = false;
    look_at_finds();
}

void directories_hold(bool hold)
{
    held = hold;
}

int64_t directories_deadline(void)
{
    int64_t busy = spool_busy_deadline();
    return busy < rescan_at ? busy : rescan_at;
}

void directories_expire(int64_t now)
{
    struct wish *wish;
    while ((wish = spool_busy_due(now)) != NULL) {
        wish->look_at = INT64_MAX;
        wish_examine(wish);
    }
    if (rescan_at > now)
        return;
    rescan_at = INT64_MAX;
    last_rescan = now;
    event_broker("warning", "events were lost: everything is looked at again");
    directories_rescan();
}

void spool_event(const struct spool_event *event)
{
    switch (event->kind) {
    case SPOOL_DIRECTORY:
        directory_appeared(event->name);
        break;
    case SPOOL_DIRECTORY_GONE:
        directory_gone(event->name);
        break;
    case SPOOL_OVERFLOW:
        if (rescan_at == INT64_MAX)
            rescan_at = last_rescan == 0 ? monotonic_now() : last_rescan + INT64_C(1000000000);
        break;
    case SPOOL_OTHER_NAME:
        if (event->user->adopted)
            report_name(event->user, event->name);
        break;
    case SPOOL_WISH:
        if (event->wish != NULL) {
            event->wish->written = true;
            event->wish->closed = OF_JSON | OF_TID;
            wish_examine(event->wish);
        } else if (event->user->adopted) {
            struct wish *wish = wish_find(event->user, event->name, true);
            wish->written = !event->newborn;
            wish->closed |= event->closed;
            wish_examine(wish);
        } else if (account_ready(event->user->account))
            judge(event->user); /* its owner may have joined the group */
        break;
    }
}
