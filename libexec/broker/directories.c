#include "directories.h"

#include <errno.h>
#include <stdio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "event.h"
#include "files.h"
#include "moment.h"
#include "noticing.h"
#include "order.h"
#include "paragraph.h"
#include "scans.h"
#include "spool.h"
#include "wishes.h"

static bool held;
static int64_t rescan_at = INT64_MAX, last_rescan; /* a user can make the queue overflow: once a second is enough */

static void rescan_soon(void)
{
    if (rescan_at == INT64_MAX)
        rescan_at = last_rescan == 0 ? monotonic_now() : last_rescan + INT64_C(1000000000);
}

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

/* ---- floods ---- */

/* Whose events come faster than this is not listened to for a while, and then looked through: the queue is one for all, and
 * what overflows it costs everybody. A program that writes wishes as fast as it can may get here, too; it loses nothing. */
enum { NOISE_MAX = 8192 };
static const int64_t noise_window = INT64_C(100000000), first_mute = INT64_C(50000000), longest_mute = INT64_C(3200000000),
                     soon = INT64_C(10000000);
static TAILQ_HEAD(, user) muted = TAILQ_HEAD_INITIALIZER(muted);

static bool is_too_loud(const struct user *user, unsigned events)
{
    struct account *bucket = user_bucket(user);
    int64_t now = monotonic_now();
    if (now - bucket->noise_window > noise_window) {
        bucket->noise_window = now;
        bucket->noise = 0;
    }
    bucket->noise += events;
    return bucket->noise > NOISE_MAX && user->uid != 0;
}

static void mute(struct user *user)
{
    int64_t now = monotonic_now();
    if (user->gone || user->look_at != 0)
        return; /* what is told of its files then is of their own watches */
    bool again = user->muted_at != 0 && now - user->muted_at < user->look_pause + noise_window * 10;
    user->look_pause = !again ? first_mute : user->look_pause < longest_mute ? user->look_pause * 2 : longest_mute;
    user->muted_at = now;
    user->look_at = now + user->look_pause;
    spool_user_unwatch(user);
    TAILQ_INSERT_TAIL(&muted, user, of_muted);
    if (!again)
        report(user, user->name, user->account, "ignored", "events of this directory come too fast: it is looked through now and then until they do not");
}

void directories_noise(struct user *user, unsigned events)
{
    if (is_too_loud(user, events))
        mute(user);
}

static void hear_again(struct user *user)
{
    if (user->look_at != 0)
        TAILQ_REMOVE(&muted, user, of_muted);
    user->look_at = 0;
}

void directory_again(struct user *user, int64_t after)
{
    if (user->gone || user->look_at != 0)
        return;
    user->look_at = monotonic_now() + after;
    TAILQ_INSERT_TAIL(&muted, user, of_muted);
}

static int64_t muted_deadline(void)
{
    const struct user *user;
    int64_t earliest = INT64_MAX;
    TAILQ_FOREACH(user, &muted, of_muted)
        if (user->look_at < earliest)
            earliest = user->look_at;
    return earliest;
}

static void scan(struct user *user);

static void judge(struct user *user);

static void listen_again(int64_t now)
{
    struct user *user, *next;
    for (user = TAILQ_FIRST(&muted); user != NULL; user = next) {
        next = TAILQ_NEXT(user, of_muted);
        if (user->look_at > now)
            continue;
        hear_again(user);
        if (user->watch < 0 && !spool_user_watch(user))
            directory_again(user, longest_mute);
        if (user->adopted)
            scan(user); /* from here on there are events again */
        else if (account_ready(user->account))
            judge(user);
    }
}

static void link_to_account(struct user *user)
{
    user->account = account_find(user->uid);
    user->next_of_account = user->account->users;
    user->account->users = user;
}

static void unlink_from_account(struct user *user)
{
    if (user->of != NULL)
        user->of->directories--;
    user->of = NULL;
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

void report_name(struct user *user, const char *name)
{
    report(user, name, user->account, "ignored", "a name is [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63} with .json or .tid behind it");
}

static void scan(struct user *user)
{
    if (!held)
        scan_begin(user);
}

static void let_go(struct user *user)
{
    unlink_from_account(user);
    scan_forget(user);
    hear_again(user);
    spool_user_close(user);
}

static void judge(struct user *user)
{
    char name[NAME_BYTES];
    struct account *account = user->account;
    if (account->state == ACCOUNT_FAILED) {
        report(user, user->name, account, "ignored", "the account database does not answer");
        directory_again(user, longest_mute);
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
    if (account->uid != 0 && !user->adopted && user_bucket(user)->directories >= max_wishes) {
        report(user, user->name, account, "ignored", "uids without an account have as many directories as they may have together");
        let_go(user);
        return;
    }
    if (!user->adopted)
        user->of = user_bucket(user);
    if (!user->adopted)
        user->of->directories++;
    spool_user_adopt(user);
    scan(user);
}

/* Another may have been renamed over it, or it may have been given away. */
static bool is_same_directory(const struct user *user)
{
    struct stat named, opened;
    if (spool_look(spool.specs, user->name, &named) && fstat(user->directory, &opened) == 0)
        return named.st_ino == opened.st_ino && opened.st_uid == user->uid;
    bool unseen = is_of_the_moment(errno);
    if (unseen)
        rescan_soon();
    return unseen;
}

static void directory_gone(const char *name)
{
    struct wish *wish, *next;
    struct user *user = spool_user_find(name);
    if (user == NULL)
        return;
    unlink_from_account(user);
    scan_forget(user);
    hear_again(user);
    spool_user_leave(user);
    if (user->wishes == NULL) {
        spool_user_close(user);
        return;
    }
    HASH_ITER(hh, user->wishes, wish, next)
        wish_queue(wish); /* all of them are gone; the last one takes the user along */
}

/* Something of this name appeared in specs/, changed, or went. */
static void directory_changed(const char *name)
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
    if (user == NULL && !exists && is_of_the_moment(errno))
        rescan_soon();
    if (user == NULL && exists) {
        struct user stranger = {.uid = uid};
        report(&stranger, name, account_find(uid), "refused", "moved aside: only directories belong in specs/");
        if (!is_directory)
            (void)spool_move_aside(name, uid);
    }
    if (user == NULL)
        return;
    link_to_account(user);
    if (user->watch < 0)
        directory_again(user, soon);
    if (account_ready(user->account))
        judge(user);
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

/* ---- names in specs/ ---- */

/* Everybody may make and remove directories there, and whose they were cannot be told any more: so many names wait to be
 * looked at, a few in each turn, and when there are more, all of specs/ is looked through at leisure. */
struct changed {
    UT_hash_handle hh;
    char name[];
};
enum { CHANGED_MAX = 1024, TURN_DIRECTORIES = 8, TURN_NAMES = 64 };
static struct changed *changed_names;
static DIR *listing;
static bool listing_is_due;

static void add_name(const char *name)
{
    struct changed *changed;
    HASH_FIND_STR(changed_names, name, changed);
    if (changed != NULL)
        return;
    size_t size = strlen(name) + 1;
    changed = allocate(sizeof *changed + size);
    memcpy(changed->name, name, size);
    HASH_ADD_STR(changed_names, name, changed);
}

static void add_name_or_rescan(const char *name)
{
    if (HASH_COUNT(changed_names) < CHANGED_MAX)
        add_name(name);
    else
        rescan_soon();
}

static void list_some(void)
{
    if (listing == NULL && listing_is_due) {
        listing_is_due = false;
        listing = spool_list(spool.specs);
        if (listing == NULL)
            rescan_at = monotonic_now() + first_mute;
    }
    if (listing == NULL || HASH_COUNT(changed_names) >= CHANGED_MAX || spool_list_directories(listing, TURN_NAMES, add_name))
        return;
    if (errno != 0)
        rescan_soon(); /* it broke off */
    closedir(listing);
    listing = NULL;
}

bool directories_are_due(void)
{
    return changed_names != NULL || listing != NULL || listing_is_due || scans_are_due();
}

void directories_take_turn(void)
{
    for (int taken = 0; taken < TURN_DIRECTORIES && changed_names != NULL; taken++) {
        struct changed *changed = changed_names;
        HASH_DEL(changed_names, changed);
        directory_changed(changed->name);
        free(changed);
    }
    list_some();
    scans_take_turn();
}

void directories_rescan(void)
{
    for (struct user *user = spool_users(); user != NULL; user = user->hh.next) {
        add_name(user->name);
        if (user->adopted)
            scan(user);
    }
    listing_is_due = true;
}

void directories_finish(void)
{
    while (changed_names != NULL || listing != NULL || listing_is_due) {
        for (struct changed *changed; (changed = changed_names) != NULL; free(changed)) {
            HASH_DEL(changed_names, changed);
            directory_changed(changed->name);
        }
        list_some();
    }
    scans_finish();
}

void directories_hold(bool hold)
{
    held = hold;
}

int64_t directories_deadline(void)
{
    int64_t busy = spool_busy_deadline(), quiet = muted_deadline();
    int64_t earliest = busy < rescan_at ? busy : rescan_at;
    return quiet < earliest ? quiet : earliest;
}

void directories_expire(int64_t now)
{
    struct wish *wish;
    while ((wish = spool_busy_due(now)) != NULL)
        wish_queue(wish);
    listen_again(now);
    if (rescan_at > now)
        return;
    rescan_at = INT64_MAX;
    last_rescan = now;
    event_broker("warning", "events were lost: everything is looked at again");
    directories_rescan();
}

static void wish_event(const struct spool_event *event)
{
    struct user *user = event->user;
    if (event->wish != NULL) {
        event->wish->written = true;
        event->wish->closed = OF_JSON | OF_TID;
        wish_queue(event->wish);
    } else if (user->adopted) {
        struct wish *wish = wish_find(user, event->name, true);
        wish->written = !event->newborn;
        wish->closed |= event->closed;
        wish->has_tid |= event->of_tid;
        wish_queue(wish);
    } else if (account_ready(user->account))
        judge(user); /* its owner may have joined the group */
}

void spool_event(const struct spool_event *event)
{
    if (event->kind == SPOOL_OVERFLOW)
        rescan_soon();
    else if (event->kind == SPOOL_DIRECTORY)
        add_name_or_rescan(event->name);
    if (event->user == NULL)
        return;
    if (event->wish != NULL && is_too_loud(event->user, 1)) /* a watch of its own */
        mute(event->user);
    else if (event->kind == SPOOL_OTHER_NAME && event->user->adopted)
        report_name(event->user, event->name);
    else if (event->kind == SPOOL_WISH)
        wish_event(event);
}
