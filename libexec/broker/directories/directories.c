#include "directories.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "acl.h"
#include "event.h"
#include "memory.h"
#include "paragraph.h"
#include "readers.h"
#include "scans.h"
#include "spool.h"
#include "supervise.h"
#include "reservations.h"

/* A message to the adopter. */
struct message {
    TAILQ_ENTRY(message) next;
    int fd; /* -1: none; closed after sending */
    struct paragraph_output text;
};

static struct {
    struct user *users;
    TAILQ_HEAD(, user) closed;
    bool held, scanned, swept;
    int adopting; /* number of directories that the adopter has to adopt */
    struct program adopter;
    TAILQ_HEAD(, message) messages;
} directories = {.closed = TAILQ_HEAD_INITIALIZER(directories.closed),
                 .messages = TAILQ_HEAD_INITIALIZER(directories.messages)};
enum { STRANGERS_MOST = 64 }; /* the most adopted directories of uids without an account */
/* ns; after this time the broker asks the account database or the adopter again */
static const int64_t try_again_after = INT64_C(3200000000);

/* ---- owners ---- */

static bool is_named_by_uid(const struct user *user)
{
    char decimal[16];
    snprintf(decimal, sizeof decimal, "%u", user->uid);
    return strcmp(user->name, decimal) == 0;
}

/* True: the account of the directory is known. A directory of a uid without an account has this uid
 * as its name. A user may have any number of such uids (user_namespaces(7)), so the broker asks for
 * their accounts last: such directories then delay no directory that has the name of an account, or
 * a uid that a rule names. */
static bool account_of_is_ready(struct user *user)
{
    return is_named_by_uid(user) && !acl_names_uid(rules, user->uid)
               ? account_ready_last(user->account)
               : account_ready(user->account);
}

/* ---- the adopter ---- */

static void send_waiting(struct program *adopter)
{
    struct message *message;
    bool full = false;
    while (supervise_runs(adopter) && !full &&
           (message = TAILQ_FIRST(&directories.messages)) != NULL) {
        full = !coprocess_send_fds(&adopter->process, message->text.data, message->text.length,
                                   &message->fd, message->fd >= 0 ? 1 : 0);
        if (full)
            break;
        TAILQ_REMOVE(&directories.messages, message, next);
        if (message->fd >= 0)
            close(message->fd); /* the adopter has got a copy of the descriptor */
        paragraph_output_free(&message->text);
        free(message);
    }
    coprocess_wait_for_room(&adopter->process, full);
}

static struct message *adopter_message(const char *op)
{
    struct message *message = allocate(sizeof *message);
    message->fd = -1;
    paragraph_add(&message->text, "op", op);
    return message;
}

static void adopter_send(struct message *message)
{
    paragraph_close(&message->text);
    TAILQ_INSERT_TAIL(&directories.messages, message, next);
    send_waiting(&directories.adopter);
}

static void send_about(const char *op, const struct user *user)
{
    struct message *message = adopter_message(op);
    paragraph_add(&message->text, "name", user->name);
    paragraph_add_number(&message->text, "inode", user->inode);
    paragraph_add_number(&message->text, "uid", user->uid);
    adopter_send(message);
}

void directories_dispose(int fd)
{
    if (fd < 0)
        return;
    struct message *message = adopter_message("close");
    message->fd = fd;
    adopter_send(message);
}

void directories_set_mode(int fd, mode_t mode)
{
    struct message *message = adopter_message("mode");
    message->fd = fd;
    paragraph_add_number(&message->text, "mode", mode);
    adopter_send(message);
}

void directories_rescan(void)
{
    adopter_send(adopter_message("scan"));
    for (struct user *user = directories.users; user != NULL; user = user->hh.next) {
        /* The log lines of a uid without an account count in a budget of their own only if a rule
         * names the uid. The new rules may name other uids. */
        user->account->log_of = user_bucket(user);
        if (user->state == DIRECTORY_ADOPTED && !directories.held)
            reader_scan(user);
        else if (user->state == DIRECTORY_FOUND && account_of_is_ready(user))
            directories_of(user->account); /* a uid that the new rules name may have a directory */
    }
}

/* Has the new adopter report specs/ again, because the dead adopter may not have carried out its
 * orders. */
static void directories_on_start(struct program *adopter, bool again)
{
    (void)adopter;
    (void)again;
    directories.adopting = 0;
    directories.swept = false;
    for (struct user *user = directories.users; user != NULL; user = user->hh.next) {
        user->told = false;
        if (user->state == DIRECTORY_ADOPTING)
            user->state = DIRECTORY_FOUND;
    }
    adopter_send(adopter_message("scan"));
}

/* ---- users ---- */

struct user *users_first(void)
{
    return directories.users;
}

struct user *user_find(const char *name)
{
    struct user *user;
    HASH_FIND_STR(directories.users, name, user);
    return user;
}

/* Makes the name printable. All uids without an account share one budget of lines. */
void report_found(const struct user *user, const char *name, const char *decision,
                  const char *reason)
{
    char text[80];
    struct account *account =
        user_bucket(&(struct user){.uid = user->uid, .account = account_find(user->uid)});
    snprintf(text, sizeof text, "%.76s", name);
    struct event event = {.stage = "spool",
                          .user = user,
                          .name = paragraph_clean(text),
                          .decision = decision,
                          .reason = reason,
                          .microseconds = -1};
    (void)event_write_rarely(&event, &account->rare_window, &account->rare_count);
}

static void judge(struct user *user);

static void look_again(struct timer *timer)
{
    struct user *user = container_of(timer, struct user, look);
    if (user->state == DIRECTORY_ADOPTED)
        send_about("adopt", user); /* the adopter's answer came without a descriptor */
    else if (user->state == DIRECTORY_FOUND && account_of_is_ready(user))
        judge(user);
}

static struct user *user_new(const char *name, uint64_t inode, uid_t uid)
{
    struct user *user = allocate(sizeof *user);
    snprintf(user->name, sizeof user->name, "%s", name);
    user->uid = uid;
    user->inode = inode;
    user->directory = -1;
    user->look.due = look_again;
    reader_init(user);
    HASH_ADD_STR(directories.users, name, user);
    user->account = account_find(uid);
    account_hold(user->account);
    LIST_INSERT_HEAD(&user->account->users, user, of_account);
    return user;
}

static void unlink_from_account(struct user *user)
{
    if (user->of != NULL)
        user->of->directories--;
    user->of = NULL;
    LIST_REMOVE(user, of_account);
}

void user_close(struct user *user)
{
    TAILQ_INSERT_TAIL(&directories.closed, user, of_list);
}

void users_sweep(void)
{
    struct user *user;
    while ((user = TAILQ_FIRST(&directories.closed)) != NULL) {
        TAILQ_REMOVE(&directories.closed, user, of_list);
        account_let_go(user->account);
        free(user);
    }
}

/* Call this when the directory is removed, or belongs to another owner. The reservations in the
 * directory end. */
static void let_go(struct user *user)
{
    struct reservation *reservation, *next;
    HASH_DELETE(hh, directories.users, user);
    if (user->state == DIRECTORY_ADOPTING)
        directories.adopting--;
    user->state = DIRECTORY_GONE;
    unlink_from_account(user);
    timer_end(&user->look);
    scan_forget(user);
    reader_leave(user);
    directories_dispose(user->directory);
    user->directory = -1;
    if (user->reservations == NULL) {
        user_close(user);
        return;
    }
    HASH_ITER (hh, user->reservations, reservation, next) {
        reservation->expected = EXPECT_NOTHING; /* no report of the reader will come */
        /* each reservation ends at its turn; the last one frees the user */
        reservation_queue(reservation);
    }
}

static bool is_named_for(const struct user *user)
{
    return is_named_by_uid(user) ||
           (user->account->name != NULL && strcmp(user->name, user->account->name) == 0);
}

static void adopt(struct user *user)
{
    if (user->state != DIRECTORY_ADOPTING)
        directories.adopting++;
    user->state = DIRECTORY_ADOPTING;
    send_about("adopt", user);
}

/* True: the account may have one more directory. A user may have any number of uids without an
 * account. The broker refuses the specs of such uids anyway, so it adopts only a few directories
 * for all such uids together. */
static bool has_room(const struct user *user)
{
    const struct account *bucket = user_bucket(user);
    const bool is_stranger = bucket != user->account;
    return user->of != NULL || user->uid == 0 ||
           bucket->directories <
               (is_stranger && max_specs > STRANGERS_MOST ? STRANGERS_MOST : max_specs);
}

/* The broker and the adopter forget the directory. The adopter reports it again when the owner
 * changes it, and at each scan. */
static void ignore(struct user *user)
{
    report_found(user, user->name, "ignored",
                 "too many directories belong to uids without an account");
    send_about("forget", user);
    let_go(user);
}

static void judge(struct user *user)
{
    struct account *account = user->account;
    timer_end(&user->look);
    if (account->state == ACCOUNT_FAILED) {
        report_found(user, user->name, "ignored", "the account database does not answer");
        timer_set(&user->look, monotonic_now() + try_again_after);
        return;
    }
    if (!is_named_for(user)) {
        /* root has made the directory for a user, and will call chown(2): then the adopter reports
         * the directory again */
        if (user->uid == 0)
            return;
        report_found(
            user, user->name, "refused",
            "moved aside: a directory in specs/ must have the name or the uid of its owner");
        send_about("aside", user);
        let_go(user);
        return;
    }
    account->log_of = user_bucket(user);
    if (!has_room(user)) {
        ignore(user);
        return;
    }
    if (user->of == NULL) {
        user->of = user_bucket(user);
        user->of->directories++;
    }
    adopt(user);
}

void directories_of(struct account *account)
{
    struct user *next;
    for (struct user *user = LIST_FIRST(&account->users); user != NULL; user = next) {
        next = LIST_NEXT(user, of_account);
        if (user->state == DIRECTORY_FOUND)
            judge(user);
    }
}

void directory_adopt_for_now(struct user *user)
{
    timer_end(&user->look);
    if (user->state == DIRECTORY_ADOPTING)
        directories.adopting--;
    user->state = DIRECTORY_ADOPTED;
    send_about("adopt", user); /* the adopter's answer brings the descriptor for the reader */
}

void directories_hold(bool hold)
{
    directories.held = hold;
    for (struct user *user = directories.users; !hold && user != NULL; user = user->hh.next)
        if (user->state == DIRECTORY_ADOPTED)
            reader_scan(user);
}

bool directories_are_known(void)
{
    return directories.scanned && directories.adopting == 0;
}

bool directories_are_scanned(void)
{
    for (const struct user *user = directories.users; user != NULL; user = user->hh.next)
        if (user->state == DIRECTORY_ADOPTED && !user->scanned)
            return false;
    return true;
}

/* ---- reports of the adopter ---- */

static void found(const char *name, uint64_t inode, uid_t uid)
{
    struct user *user = user_find(name);
    if (user != NULL && (user->inode != inode || user->uid != uid)) {
        let_go(user);
        user = NULL;
    }
    if (user == NULL)
        user = user_new(name, inode, uid);
    user->told = true;
    if (user->state == DIRECTORY_ADOPTED)
        send_about("adopt", user); /* an adopter that was started again reports all directories */
    else if (user->state == DIRECTORY_FOUND && account_of_is_ready(user))
        judge(user); /* the owner may have joined the group */
}

/* The adopter's answer has no descriptor, because the broker had no free descriptor: asks again
 * later. A directory that directory_adopt_for_now has adopted stays adopted, because the broker has
 * taken over the reservations in it. */
static void adopt_later(struct user *user)
{
    if (user->state == DIRECTORY_ADOPTING) {
        directories.adopting--;
        user->state = DIRECTORY_FOUND;
    }
    timer_set(&user->look, monotonic_now() + try_again_after);
}

/* Takes the adopter's answer. A user keeps the descriptor of the first answer: an adopter that was
 * started again gets the order again, and answers again. */
static void adopted(const char *name, uint64_t inode, int *fd)
{
    struct user *user = user_find(name);
    if (user == NULL || user->inode != inode || user->directory >= 0 ||
        (user->state != DIRECTORY_ADOPTING && user->state != DIRECTORY_ADOPTED))
        return;
    if (*fd < 0) {
        adopt_later(user);
        return;
    }
    if (user->state == DIRECTORY_ADOPTING)
        directories.adopting--;
    user->state = DIRECTORY_ADOPTED;
    user->directory = *fd;
    *fd = -1;
    if (!directories.held)
        reader_scan(user);
}

static void put_aside(const char *name, uid_t uid)
{
    const struct user stranger = {.uid = uid};
    report_found(
        &stranger, name, "refused",
        "moved aside: specs/ may have only directories with the name or the uid of their owner");
}

/* The adopter reports only once that a uid can make nothing more. So no log budget has to count
 * this line. */
static void full(uid_t uid, const char *why_not)
{
    char reason[REASON_BYTES];
    const struct user stranger = {.uid = uid};
    if (why_not == NULL)
        snprintf(
            reason, sizeof reason,
            "uid %u can make nothing more in specs/, because too many of its files were moved aside: remove some of specs/.aside-%u-*, then send SIGHUP",
            uid, uid);
    else
        snprintf(
            reason, sizeof reason,
            "many files of uid %u in specs/ were moved aside, but this uid can still make more, because the adopter could not set an access control list: %.160s",
            uid, why_not);
    event_write(&(struct event){.stage = "spool",
                                .user = &stranger,
                                .decision = why_not == NULL ? "warning" : "error",
                                .reason = reason,
                                .microseconds = -1});
}

/* Lets go of the directories that the new adopter has not reported: they were removed while no
 * adopter ran. */
static void let_go_of_untold(void)
{
    struct user *user, *next;
    directories.swept = true;
    HASH_ITER (hh, directories.users, user, next)
        if (!user->told)
            let_go(user);
}

static bool directories_on_message(struct program *adopter, const struct paragraph *said, int *fd)
{
    uint64_t inode, uid;
    const char *event = paragraph_get(said, "event"), *name = paragraph_get(said, "name");
    (void)adopter;
    if (event == NULL || paragraph_get_number(said, "inode", UINT64_MAX, &inode) < 0 ||
        paragraph_get_number(said, "uid", UINT32_MAX, &uid) < 0)
        return false;
    if (strcmp(event, "scanned") == 0) {
        directories.scanned = true;
        if (!directories.swept && paragraph_get(said, "whole") != NULL)
            let_go_of_untold();
        return true;
    }
    if (strcmp(event, "full") == 0) {
        full((uid_t)uid, paragraph_get(said, "why_not"));
        return true;
    }
    if (name == NULL || strlen(name) >= NAME_BYTES)
        return false;
    if (strcmp(event, "directory") == 0)
        found(name, inode, (uid_t)uid);
    else if (strcmp(event, "adopted") == 0)
        adopted(name, inode, fd);
    else if (strcmp(event, "aside") == 0)
        put_aside(name, (uid_t)uid);
    else if (strcmp(event, "gone") == 0) {
        struct user *user = user_find(name);
        if (user != NULL)
            let_go(user);
    } else
        return false;
    return true;
}

static const struct program_description adopter_is = {
    .name = "rtf-adopter, which looks after specs/,",
    .kind = CHILD_ADOPTER,
    .talk = COPROCESS_SOCKET,
    SUPERVISE_EACH_SECOND,
    .on_start = directories_on_start,
    .on_message = directories_on_message,
    .on_room = send_waiting,
    .dispose = directories_dispose,
};

void directories_prepare(char *path)
{
    char *const argv[] = {path, NULL};
    supervise_prepare(&directories.adopter, &adopter_is, argv, (struct identity_to_run_as){0, 0});
}

bool directories_start(void)
{
    return supervise_start(&directories.adopter, -1, spool.specs);
}
