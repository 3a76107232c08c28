#include "trace-door.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "acl.h"
#include "directories.h"
#include "names.h"
#include "reservations.h"
#include "spool.h"
#include "traces.h"
#include "watch-stream.h"

/* WAITING_MOST: connections whose accounts are not known yet. */
enum { WAITING_MOST = 16, WORD = 40 };

/* ns: the least time between two connections of a door. The broker runs above all grants, so it
 * must not answer more often, however many connections a user makes. */
static const int64_t between = 10000000;

static void meet(struct source *source, uint32_t events);
static void listen_again(struct timer *timer);

/* The doors of rtf-trace(1) and rtf-why(1). */
enum { TRACE, WHY, DOORS };

struct door {
    struct source source;
    const char *name;
    int listening;
    struct timer later; /* listens again at this time */
};

static struct {
    struct door of[DOORS];
    struct {
        int socket; /* -1: this place is free */
        uid_t uid;
        bool why;
    } waiting[WAITING_MOST];
} trace_door = {.of = {[TRACE] = {{.ready = meet}, WATCH_SOCKET, -1, {.due = listen_again}},
                       [WHY] = {{.ready = meet}, WATCH_WHY_SOCKET, -1, {.due = listen_again}}}};

/* ---- answers ---- */

/* A new connection has room for one answer. */
static void refuse(int socket, int status, const char *sentence)
{
    char bytes[sizeof(struct watch_head) + REASON_BYTES];
    const struct watch_head head = {.kind = WATCH_REFUSED, .count = (uint32_t)status};
    const size_t length = strnlen(sentence, REASON_BYTES);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, sentence, length);
    (void)send(socket, bytes, sizeof head + length, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void list_threads(const struct user *user, char *text, size_t size, int *count)
{
    size_t used = strlen(text);
    for (const struct reservation *reservation = user->reservations; reservation != NULL;
         reservation = reservation->hh.next) {
        const struct attachment *attachment = reservation->attachment;
        if (attachment == NULL || attachment->state == ATTACHMENT_LAID_DOWN ||
            *count == WATCH_THREADS || used + WORD > size)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%d:%llu", used == 0 ? "" : " ",
                                 (int)attachment->tid, (unsigned long long)attachment->started_by);
        ++*count;
    }
}

static void answer(int socket, const struct account *account, bool why_late)
{
    char reason[REASON_BYTES], threads[PARAGRAPH_BYTES - 256] = "";
    int status, count = 0;
    if (account->state != ACCOUNT_KNOWN) {
        refuse(socket, EX_TEMPFAIL, "the account database does not answer: try again later");
        return;
    }
    if (!acl_may_trace(rules, account, reason)) {
        refuse(socket, EX_NOPERM, reason);
        return;
    }
    const char *why = traces_refuse(account->uid, &status);
    if (why != NULL) {
        refuse(socket, status, why);
        return;
    }
    for (const struct user *user = users_first(); user != NULL; user = user->hh.next)
        if (user->uid == account->uid)
            list_threads(user, threads, sizeof threads, &count);
    if (count == 0)
        refuse(socket, EX_NOINPUT, "you have no reservation with a thread: attach a thread first");
    else if (!traces_begin(account->uid, threads, socket, why_late))
        refuse(socket, EX_UNAVAILABLE, "rtf-watch cannot be started");
}

/* ---- connections ---- */

static void wait_for_account(int socket, uid_t uid, bool why)
{
    for (int i = 0; i < WAITING_MOST; i++)
        if (trace_door.waiting[i].socket < 0) {
            trace_door.waiting[i].socket = socket;
            trace_door.waiting[i].uid = uid;
            trace_door.waiting[i].why = why;
            return;
        }
    refuse(socket, EX_TEMPFAIL, "too many users begin traces at the same time: try again");
    close(socket);
}

void trace_door_account_known(const struct account *account)
{
    for (int i = 0; i < WAITING_MOST; i++) {
        const int socket = trace_door.waiting[i].socket;
        if (socket < 0 || trace_door.waiting[i].uid != account->uid)
            continue;
        trace_door.waiting[i].socket = -1;
        answer(socket, account, trace_door.waiting[i].why);
        close(socket);
    }
}

static void let_in(int socket, bool why)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        close(socket);
        return;
    }
    struct account *account = account_find(peer.uid);
    if (!account_ready_last(account)) {
        wait_for_account(socket, peer.uid, why);
        return;
    }
    answer(socket, account, why);
    close(socket);
}

static void meet(struct source *source, uint32_t events)
{
    struct door *door = container_of(source, struct door, source);
    const int socket = accept4(door->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    (void)events;
    if (socket >= 0)
        let_in(socket, door == &trace_door.of[WHY]);
    loop_change(door->listening, 0, source);
    timer_set(&door->later, monotonic_now() + between);
}

static void listen_again(struct timer *timer)
{
    struct door *door = container_of(timer, struct door, later);
    loop_change(door->listening, EPOLLIN, &door->source);
}

static bool open_door(struct door *door)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", spool.root,
             door->name);
    (void)unlinkat(spool.root, door->name, 0);
    door->listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* before the socket listens, no process can connect, so its mode can be set first */
    return door->listening >= 0 &&
           bind(door->listening, (const struct sockaddr *)&address, sizeof address) == 0 &&
           fchownat(spool.root, door->name, 0, spool.group, AT_SYMLINK_NOFOLLOW) == 0 &&
           fchmodat(spool.root, door->name, 0660, 0) == 0 &&
           listen(door->listening, WAITING_MOST) == 0;
}

bool trace_door_open(char reason[static REASON_BYTES])
{
    for (struct door *door = trace_door.of; door < trace_door.of + DOORS; door++)
        if (!open_door(door)) {
            snprintf(reason, REASON_BYTES, "%s: %s", door->name, strerror(errno));
            return false;
        }
    return true;
}

bool trace_door_start(void)
{
    for (int i = 0; i < WAITING_MOST; i++)
        trace_door.waiting[i].socket = -1;
    for (struct door *door = trace_door.of; door < trace_door.of + DOORS; door++)
        if (!loop_add(door->listening, EPOLLIN, &door->source))
            return false;
    return true;
}
