#include "revoking.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "directories.h"
#include "event.h"
#include "transient.h"
#include "reservations.h"
#include "spool.h"
#include "units.h"

enum { ORDERS_MOST = 16 };
static const char file[] = "orders";

/* A slot for a connection and the order that came through it. Slots are never freed, because the
 * loop may still have an event for a connection that has ended. */
struct order {
    struct source source;
    int socket; /* -1: the slot is free */
    /* taken: the order has been read; ends: the connection ends when all of `said` is sent */
    bool taken, ends;
    struct paragraph_output said; /* answers for which the socket has had no room yet */
    /* the task numbers of the reservations; 0: the reservation is revoked already */
    uint64_t *tasks;
    size_t count, left;
};

static void meet(struct source *source, uint32_t events);

static struct {
    struct order orders[ORDERS_MOST];
    struct source door;
    int listening;
    struct timer later; /* listens again at this time */
} revoking = {.door.ready = meet, .listening = -1};

static void hang_up(struct order *order)
{
    loop_remove(order->socket);
    close(order->socket);
    free(order->tasks);
    paragraph_output_free(&order->said);
    *order = (struct order){.source = order->source, .socket = -1};
}

/* Sends the answer when the socket has room. */
static void put(struct order *order)
{
    paragraph_close(&order->said);
    loop_change(order->socket, EPOLLIN | EPOLLOUT, &order->source);
}

static void tell_last(struct order *order, const char *event)
{
    paragraph_add(&order->said, "event", event);
    put(order);
    order->ends = true;
}

static void tell_taken(struct order *order)
{
    paragraph_add(&order->said, "event", "taken");
    paragraph_add_number(&order->said, "count", order->count);
    put(order);
}

static void tell_revoked(struct order *order, const struct reservation *reservation)
{
    paragraph_add(&order->said, "event", "revoked");
    paragraph_add(&order->said, "user", reservation->user->name);
    paragraph_add(&order->said, "name", reservation->name);
    put(order);
}

static void end_if_done(struct order *order)
{
    if (order->left == 0)
        tell_last(order, "done");
}

void revoking_done(const struct reservation *reservation)
{
    for (struct order *order = revoking.orders; order < revoking.orders + ORDERS_MOST; order++) {
        if (order->socket < 0 || order->left == 0)
            continue;
        for (size_t i = 0; i < order->count; i++)
            if (order->tasks[i] == reservation->task) {
                order->tasks[i] = 0;
                order->left--;
                tell_revoked(order, reservation);
            }
        end_if_done(order);
    }
}

/* ---- which reservations ---- */

/* False: the order would end nothing, for example because the reservation is refused. Then the
 * reader does not remove NAME.json. */
static bool can_be_revoked(const struct reservation *reservation)
{
    return reservation->state != RESERVATION_OVER_LIMIT &&
           (reservation->grant != NULL || reservation->waiter != NULL ||
            reservation->request != NULL);
}

static void withdraw(struct order *order, struct reservation *reservation)
{
    if (!can_be_revoked(reservation))
        return;
    order->tasks = realloc(order->tasks, (order->count + 1) * sizeof *order->tasks);
    if (order->tasks == NULL)
        abort();
    order->tasks[order->count++] = reservation->task;
    order->left++;
    reservation->state = RESERVATION_WITHDRAWN;
    reservation_queue(reservation);
}

static bool matches(const char *pattern, const char *name)
{
    return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

/* True: the pattern matches the reservation, or the program file (rtf-programs(5)) that the
 * reservation is made from. The name of a program file stands for the reservations of all threads
 * of the program. */
static bool matches_reservation(const char *pattern, const char *name)
{
    char of_file[RESERVATION_NAME_BYTES];
    const size_t length = reservation_name_of_program(name);
    if (matches(pattern, name) || length == 0 || length >= sizeof of_file)
        return matches(pattern, name);
    memcpy(of_file, name, length);
    of_file[length] = '\0';
    return matches(pattern, of_file);
}

static void withdraw_all(struct order *order, struct user *user, const char *name)
{
    for (struct reservation *reservation = user->reservations; reservation != NULL;
         reservation = reservation->hh.next)
        if (name == NULL || matches_reservation(name, reservation->name))
            withdraw(order, reservation);
}

/* False: there is no such user. */
static bool withdraw_of(struct order *order, const struct paragraph *said)
{
    uint64_t uid;
    bool found = false;
    const char *named = paragraph_get(said, "user");
    const bool has_uid = paragraph_get_number(said, "uid", UINT32_MAX, &uid) == 1;
    for (struct user *user = users_first(); user != NULL; user = user->hh.next) {
        if (!matches(named, user->name) && !(has_uid && user->uid == uid))
            continue;
        found = true;
        withdraw_all(order, user, paragraph_get(said, "name"));
    }
    return found;
}

static void revoking_obey(struct order *order, const struct paragraph *said)
{
    const char *op = paragraph_get(said, "op");
    if (op == NULL || strcmp(op, "revoke") != 0 || paragraph_get(said, "user") == NULL) {
        event_broker("error", "an unknown order in state/current/%s is ignored", file);
        hang_up(order);
        return;
    }
    order->taken = true;
    if (!withdraw_of(order, said) || (order->count == 0 && paragraph_get(said, "name") != NULL)) {
        tell_last(order, "unknown");
        return;
    }
    tell_taken(order);
    end_if_done(order);
}

/* ---- connections ---- */

static void revoking_take(struct order *order, const char *bytes, size_t length)
{
    struct paragraph_input input = {0};
    struct paragraph said;
    const char *why = "the order ends too early";
    if (paragraph_feed(&input, bytes, length) && paragraph_take(&input, &said, &why) == 1)
        revoking_obey(order, &said);
    else {
        event_broker("error", "an order in state/current/%s cannot be read and is ignored: %s",
                     file, why);
        hang_up(order);
    }
    paragraph_input_free(&input);
}

/* Sends the next part of `said`. */
static void send_on(struct order *order)
{
    struct paragraph_output *said = &order->said;
    const size_t part = said->length < PARAGRAPH_BYTES ? said->length : PARAGRAPH_BYTES;
    const ssize_t sent =
        part == 0 ? 0 : send(order->socket, said->data, part, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0)
        paragraph_drop(said, (size_t)sent);
    if (said->length > 0)
        return;
    if (order->ends)
        hang_up(order);
    else
        loop_change(order->socket, EPOLLIN, &order->source);
}

static void revoking_hear(struct order *order)
{
    char bytes[PARAGRAPH_BYTES];
    const ssize_t got = read(order->socket, bytes, sizeof bytes);
    if (got < 0 && is_transient(errno))
        return;
    if (got > 0 && !order->taken)
        revoking_take(order, bytes, (size_t)got);
    else
        hang_up(order); /* an order that was taken goes on without its connection */
}

static void attend(struct source *source, uint32_t events)
{
    struct order *order = (struct order *)source;
    if (order->socket >= 0 && (events & EPOLLOUT) != 0)
        send_on(order);
    if (order->socket >= 0 && (events & ~(uint32_t)EPOLLOUT) != 0)
        revoking_hear(order);
}

/* Only root can enter the directory of the socket, but another process may have got a descriptor of
 * the directory. So the broker asks the kernel for the uid of the connected process. */
static bool is_root(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == 0;
}

static struct order *revoking_free_slot(void)
{
    for (struct order *order = revoking.orders; order < revoking.orders + ORDERS_MOST; order++)
        if (order->socket < 0)
            return order;
    return NULL;
}

/* Accepts a connection. If no descriptor is free, tries again later. */
static void meet(struct source *source, uint32_t events)
{
    const int64_t moment = 1000000000; /* ns */
    const int socket = accept4(revoking.listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct order *order = revoking_free_slot();
    (void)events;
    if (socket < 0) {
        loop_change(revoking.listening, 0, source);
        timer_set(&revoking.later, monotonic_now() + moment);
        return;
    }
    if (order == NULL || !is_root(socket) || !loop_add(socket, EPOLLIN, &order->source)) {
        close(socket);
        return;
    }
    order->socket = socket;
}

static void listen_again(struct timer *timer)
{
    (void)timer;
    loop_change(revoking.listening, EPOLLIN, &revoking.door);
}

bool revoking_open(char reason[static REASON_BYTES])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", spool.state, file);
    (void)unlinkat(spool.state, file, 0);
    revoking.listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (revoking.listening >= 0 &&
        bind(revoking.listening, (const struct sockaddr *)&address, sizeof address) == 0 &&
        listen(revoking.listening, ORDERS_MOST) == 0)
        return true;
    snprintf(reason, REASON_BYTES, "state/current/%s: %s", file, strerror(errno));
    return false;
}

bool revoking_start(void)
{
    revoking.later.due = listen_again;
    for (struct order *order = revoking.orders; order < revoking.orders + ORDERS_MOST; order++)
        *order = (struct order){.source.ready = attend, .socket = -1};
    return loop_add(revoking.listening, EPOLLIN, &revoking.door);
}
