#include "directories.h"

#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "event.h"
#include "order.h"
#include "spec.h"
#include "wishes.h"

static bool held;

/* A name as it may stand in a log. */
static const char *shown(const char *name, char text[static 80])
{
    snprintf(text, 80, "%.76s", name);
    for (char *at = text; *at != '\0'; at++)
        if (*at < 0x20 || *at > 0x7e)
            *at = '?';
    return text;
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

static bool may_have_one(const struct account *account)
{
    return account->uid == 0 || account_has_gid(account, spool.group) || acl_names_uid(rules, account->uid);
}

static void found(struct user *user, const char *name, bool other)
{
    if (other)
        report(user, name, user->account, "ignored", "a name is [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63} with .json or .tid behind it");
    else
        wish_examine(wish_find(user, name, true));
}

static void scan(struct user *user)
{
    struct wish *wish, *next;
    if (held)
        return;
    spool_scan_user(user, found);
    HASH_ITER(hh, user->wishes, wish, next)
        wish_examine(wish); /* those whose files have gone */
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
        report(user, user->name, account, "moved aside", "a directory in specs/ is named as its owner, or as his uid");
        let_go(user);
        (void)spool_move_aside(name, account->uid);
        return;
    }
    if (!may_have_one(account)) {
        report(user, user->name, account, "ignored", "its owner is not a member of the spool's group, and acl.conf does not name his uid");
        return;
    }
    spool_user_adopt(user);
    scan(user);
}

void directory_appeared(const char *name)
{
    uid_t uid;
    bool is_directory, exists;
    struct stat status;
    struct user *user = spool_user_find(name);
    if (user != NULL && user->adopted) {
        spool_user_adopt(user); /* its mode may have been opened to others */
        if (fstat(user->directory, &status) == 0 && status.st_uid != user->uid)
            directory_gone(name); /* given away: the new owner's directory is another one */
        else
            return;
    } else if (user != NULL)
        let_go(user);
    user = spool_user_open(name, &uid, &is_directory, &exists);
    if (user == NULL && exists) {
        report(NULL, name, account_find(uid), "moved aside", "only directories belong in specs/");
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
        wish_examine(wish); /* all of them are gone; the last one takes the user along */
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
    struct stat now, opened;
    HASH_ITER(hh, spool_users(), user, next)
        if (fstatat(spool.specs, user->name, &now, AT_SYMLINK_NOFOLLOW) != 0 || fstat(user->directory, &opened) != 0 || now.st_ino != opened.st_ino)
            directory_gone(user->name);
    spool_scan_directories(directory_appeared);
    HASH_ITER(hh, spool_users(), user, next)
        if (user->adopted)
            scan(user);
}

void directories_hold(bool hold)
{
    held = hold;
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
        event_broker("overflow", "events were lost: everything is looked at again");
        directories_rescan();
        break;
    case SPOOL_OTHER_NAME:
        if (event->user->adopted)
            found(event->user, event->name, true);
        break;
    case SPOOL_WISH:
        if (event->wish != NULL)
            wish_examine(event->wish);
        else if (event->user->adopted)
            wish_examine(wish_find(event->user, event->name, true));
        else if (account_ready(event->user->account))
            judge(event->user); /* its owner may have joined the group */
        break;
    }
}
