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

/* ns. The broker runs above all grants. So it answers at most so often, however many connections a
 * user makes. */
static const int64_t between = 10000000;

static void meet(struct source *source, uint32_t events);
static void listen_again(struct timer *timer);

static struct {
    struct source door;
    int listening;
    struct timer later; /* listens again at this time */
    struct {
        int socket; /* -1: free */
        uid_t uid;
    } waiting[WAITING_MOST];
} trace_door = {.door.ready = meet, .listening = -1, .later.due = listen_again};

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

static void answer(int socket, const struct account *account)
{
    char reason[REASON_BYTES], threads[PARAGRAPH_BYTES - 256] = "";
    int status, count = 0;
    if (account->state != ACCOUNT_KNOWN) {
        refuse(socket, EX_TEMPFAIL, "the accounts database does not answer");
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
        refuse(socket, EX_NOINPUT, "you have no reservation with a thread");
    else if (!traces_begin(account->uid, threads, socket))
        refuse(socket, EX_UNAVAILABLE, "rtf-watch cannot be started");
}

/* ---- connections ---- */

static void wait_for_account(int socket, uid_t uid)
{
    for (int i = 0; i < WAITING_MOST; i++)
        if (trace_door.waiting[i].socket < 0) {
            trace_door.waiting[i].socket = socket;
            trace_door.waiting[i].uid = uid;
            return;
        }
    refuse(socket, EX_TEMPFAIL, "too many users begin traces at the same time");
    close(socket);
}

void trace_door_account_known(const struct account *account)
{
    for (int i = 0; i < WAITING_MOST; i++) {
        const int socket = trace_door.waiting[i].socket;
        if (socket < 0 || trace_door.waiting[i].uid != account->uid)
            continue;
        trace_door.waiting[i].socket = -1;
        answer(socket, account);
        close(socket);
    }
}

static void let_in(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        close(socket);
        return;
    }
    struct account *account = account_find(peer.uid);
    if (!account_ready_last(account)) {
        wait_for_account(socket, peer.uid);
        return;
    }
    answer(socket, account);
    close(socket);
}

static void meet(struct source *source, uint32_t events)
{
    const int socket = accept4(trace_door.listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    (void)events;
    if (socket >= 0)
        let_in(socket);
    loop_change(trace_door.listening, 0, source);
    timer_set(&trace_door.later, monotonic_now() + between);
}

static void listen_again(struct timer *timer)
{
    (void)timer;
    loop_change(trace_door.listening, EPOLLIN, &trace_door.door);
}

bool trace_door_open(char reason[static REASON_BYTES])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/" WATCH_SOCKET,
             spool.root);
    (void)unlinkat(spool.root, WATCH_SOCKET, 0);
    trace_door.listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    /* until the socket listens, nobody can connect, whatever its mode is */
    if (trace_door.listening >= 0 &&
        bind(trace_door.listening, (const struct sockaddr *)&address, sizeof address) == 0 &&
        fchownat(spool.root, WATCH_SOCKET, 0, spool.group, AT_SYMLINK_NOFOLLOW) == 0 &&
        fchmodat(spool.root, WATCH_SOCKET, 0660, 0) == 0 &&
        listen(trace_door.listening, WAITING_MOST) == 0)
        return true;
    snprintf(reason, REASON_BYTES, WATCH_SOCKET ": %s", strerror(errno));
    return false;
}

bool trace_door_start(void)
{
    for (int i = 0; i < WAITING_MOST; i++)
        trace_door.waiting[i].socket = -1;
    return loop_add(trace_door.listening, EPOLLIN, &trace_door.door);
}
