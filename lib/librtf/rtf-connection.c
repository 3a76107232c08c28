#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "rtf-await.h"
#include "version.h"

#define ANSWER_WITHIN UINT64_C(30000000) /* us */

const char *rtf_version(void)
{
    return RTF_VERSION;
}

const char *rtf_result_name(enum rtf_result result)
{
    static const char *const names[] = {"RTF_OK",          "RTF_SCHEDULE_FAIL",
                                        "RTF_ACL_FAIL",    "RTF_CONNECTION_ERR",
                                        "RTF_ATTACH_FAIL", "RTF_BAD_SPEC",
                                        "RTF_PENDING",     "RTF_TIMEOUT",
                                        "RTF_GONE",        "RTF_ERROR"};
    const size_t number = (size_t)result;
    return number < sizeof names / sizeof *names ? names[number] : "?";
}

/* ---- the broker ---- */

static bool is_alive(int alive)
{
    struct pollfd fd = {.fd = alive};
    return poll(&fd, 1, 0) == 0;
}

static void watch_life(struct rtf_connection_own *connection)
{
    struct epoll_event event = {.data.fd = connection->client.alive};
    if (connection->poll >= 0)
        (void)epoll_ctl(connection->poll, EPOLL_CTL_ADD, connection->client.alive, &event);
}

/* Connects to the broker that runs now. dup3(2) replaces the connection's descriptor in one step
 * and keeps its number, because other threads may be polling a copy of that number for the end of
 * the old broker. */
static enum client_outcome reconnect(struct rtf_connection_own *connection, struct client *client,
                                     int64_t until)
{
    client->alive = -1;
    enum client_outcome outcome = client_connect(client, until);
    if (outcome != CLIENT_OK)
        return outcome;
    pthread_mutex_lock(&connection->lock);
    if (!is_alive(connection->client.alive)) {
        (void)dup3(client->alive, connection->client.alive, O_CLOEXEC);
        watch_life(connection);
    }
    pthread_mutex_unlock(&connection->lock);
    close(client->alive);
    client->alive = connection->client.alive;
    return CLIENT_OK;
}

/* Opens the caller's directory again, because the broker or the user may have removed or renamed
 * it. The descriptor keeps its number, as in reconnect. */
static enum client_outcome enter_again(struct rtf_connection_own *connection, struct client *client)
{
    struct client found = *client;
    found.directory = -1;
    enum client_outcome outcome = client_enter(&found, true);
    if (outcome == CLIENT_OK) {
        pthread_mutex_lock(&connection->lock);
        (void)dup3(found.directory, connection->client.directory, O_CLOEXEC);
        client->inode = connection->client.inode = found.inode;
        pthread_mutex_unlock(&connection->lock);
        close(found.directory);
    } else
        memcpy(client->why, found.why, sizeof client->why);
    return outcome;
}

bool own_enter_again(struct rtf_connection_own *connection, struct client *client)
{
    return client_has_moved(client) && enter_again(connection, client) == CLIENT_OK;
}

/* Copies the client of the connection, except for its watch and its messages. Returns true if no
 * other call waits with this connection. */
static bool copy(struct rtf_connection_own *connection, struct client *client)
{
    pthread_mutex_lock(&connection->lock);
    memcpy(client, &connection->client, offsetof(struct client, why));
    if (connection->spares > 0)
        client->watch = connection->spare[--connection->spares];
    const bool alone = connection->calls++ == 0;
    pthread_mutex_unlock(&connection->lock);
    client->why[0] = client->waits_for[0] = '\0';
    if (client->watch.events < 0)
        client->watch.events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return alone;
}

static enum client_outcome begin(struct rtf_connection_own *connection, struct client *client,
                                 bool alone, enum client_outcome outcome)
{
    if (client_begin_watch(client, alone) && outcome == CLIENT_OK && client_has_moved(client))
        outcome = enter_again(connection, client);
    if (outcome != CLIENT_OK)
        own_return(connection, client);
    return outcome;
}

enum client_outcome own_take_at_once(struct rtf_connection_own *connection, struct client *client)
{
    const bool alone = copy(connection, client);
    return begin(connection, client, alone, CLIENT_OK);
}

enum client_outcome own_take(struct rtf_connection_own *connection, struct client *client,
                             int64_t until)
{
    const bool alone = copy(connection, client);
    return begin(connection, client, alone,
                 is_alive(client->alive) ? CLIENT_OK : reconnect(connection, client, until));
}

void own_return(struct rtf_connection_own *connection, struct client *client)
{
    pthread_mutex_lock(&connection->lock);
    connection->calls--;
    const bool kept = client->watch.events >= 0 && connection->spares < SPARE;
    if (kept)
        connection->spare[connection->spares++] = client->watch;
    pthread_mutex_unlock(&connection->lock);
    if (!kept && client->watch.events >= 0)
        close(client->watch.events);
}

void own_make_token(struct rtf_connection_own *connection, char token[static CLIENT_TOKEN])
{
    pthread_mutex_lock(&connection->lock);
    const uint64_t number = connection->token++;
    pthread_mutex_unlock(&connection->lock);
    snprintf(token, CLIENT_TOKEN, "%016llx", (unsigned long long)number);
}

/* ---- connection ---- */

static struct rtf_connection_own *make(const char *spool)
{
    struct rtf_connection_own *own = calloc(1, sizeof *own);
    char token[CLIENT_TOKEN];
    if (own == NULL || !client_make_token(token)) {
        free(own);
        return NULL;
    }
    own->token = strtoull(token, NULL, 16);
    own->process = getpid();
    own->timeout = ANSWER_WITHIN;
    own->blocking = true;
    own->poll = own->events = -1;
    pthread_mutex_init(&own->lock, NULL);
    pthread_mutex_init(&own->list, NULL);
    own->spool = strdup(spool);
    return own;
}

enum rtf_result rtf_connect(struct rtf_connection *connection, const char *spool)
{
    if (spool == NULL)
        spool = secure_getenv("RTF_SPOOL"); /* NULL in a set-user-ID program */
    struct rtf_connection_own *own = make(spool == NULL ? RTF_SPOOL : spool);
    connection->own = own;
    if (own == NULL || own->spool == NULL)
        return RTF_CONNECTION_ERR;
    enum client_outcome outcome = client_open(&own->client, own->spool);
    if (outcome == CLIENT_OK)
        outcome = client_connect(&own->client, client_until(own->timeout));
    if (outcome == CLIENT_OK)
        outcome = client_enter(&own->client, true);
    memcpy(own->why, own->client.why, sizeof own->why);
    return outcome == CLIENT_OK ? RTF_OK : RTF_CONNECTION_ERR;
}

void rtf_disconnect(struct rtf_connection *connection)
{
    struct rtf_connection_own *own = connection->own;
    if (own == NULL)
        return;
    struct client client = own->client;
    while (own->specs != NULL)
        own_end(own->specs, &client);
    client_close(&own->client);
    while (own->spares > 0)
        close(own->spare[--own->spares].events);
    if (own->poll >= 0)
        close(own->poll);
    if (own->events >= 0)
        close(own->events);
    pthread_mutex_destroy(&own->lock);
    pthread_mutex_destroy(&own->list);
    free(own->spool);
    free(own);
    connection->own = NULL;
}

const char *rtf_reason(const struct rtf_connection *connection)
{
    return connection->own == NULL ? "the handle has no connection: call rtf_connect first"
                                   : connection->own->why;
}

void rtf_set_timeout(struct rtf_connection *connection, uint64_t microseconds)
{
    if (connection->own != NULL)
        connection->own->timeout = microseconds;
}

void rtf_set_blocking(struct rtf_connection *connection, bool blocking)
{
    if (connection->own != NULL)
        connection->own->blocking = blocking;
}

void own_enlist(struct rtf_spec_own *spec)
{
    struct rtf_connection_own *own = spec->connection;
    pthread_mutex_lock(&own->list);
    spec->next = own->specs;
    if (spec->next != NULL)
        spec->next->before = spec;
    own->specs = spec;
    pthread_mutex_unlock(&own->list);
}

void own_strike(struct rtf_spec_own *spec)
{
    struct rtf_connection_own *own = spec->connection;
    pthread_mutex_lock(&own->list);
    if (spec->next != NULL)
        spec->next->before = spec->before;
    if (spec->before != NULL)
        spec->before->next = spec->next;
    else
        own->specs = spec->next;
    pthread_mutex_unlock(&own->list);
}

/* ---- without waiting ---- */

static bool watch_directory(struct rtf_connection_own *own)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", own->client.directory);
    return inotify_add_watch(own->events, path,
                             IN_ONLYDIR | IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF |
                                 IN_MOVE_SELF) >= 0;
}

static bool make_poll(struct rtf_connection_own *own)
{
    struct epoll_event event = {.events = EPOLLIN};
    own->poll = epoll_create1(EPOLL_CLOEXEC);
    own->events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (own->poll < 0 || own->events < 0 || !watch_directory(own) ||
        epoll_ctl(own->poll, EPOLL_CTL_ADD, own->events, &event) < 0)
        return false;
    watch_life(own);
    return true;
}

int rtf_fd(struct rtf_connection *connection)
{
    struct rtf_connection_own *own = connection->own;
    if (own == NULL) {
        errno = ENOTCONN;
        return -1;
    }
    pthread_mutex_lock(&own->lock);
    const bool made = own->poll >= 0 || make_poll(own);
    const int fd = made ? own->poll : -1;
    pthread_mutex_unlock(&own->lock);
    return fd;
}

static void drain(int events)
{
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    while (events >= 0 && read(events, buffer, sizeof buffer) > 0)
        ;
}

void own_copy(struct rtf_connection_own *connection, struct client *client)
{
    pthread_mutex_lock(&connection->lock);
    *client = connection->client;
    pthread_mutex_unlock(&connection->lock);
}

enum rtf_result rtf_process(struct rtf_connection *connection)
{
    struct rtf_connection_own *own = connection->own;
    struct client client;
    if (own == NULL)
        return RTF_CONNECTION_ERR;
    own_copy(own, &client);
    /* forgets old events before it looks at the specs, so that a later change causes a new event */
    drain(own->events);
    const bool alive =
        is_alive(client.alive) || reconnect(own, &client, client_until(1)) == CLIENT_OK;
    pthread_mutex_lock(&own->list);
    for (struct rtf_spec_own *spec = own->specs; spec != NULL; spec = spec->next) {
        pthread_mutex_lock(&spec->lock);
        (void)own_look(spec, &client);
        pthread_mutex_unlock(&spec->lock);
    }
    pthread_mutex_unlock(&own->list);
    pthread_mutex_lock(&own->lock);
    if (!alive && own->poll >= 0)
        (void)epoll_ctl(own->poll, EPOLL_CTL_DEL, own->client.alive, NULL);
    pthread_mutex_unlock(&own->lock);
    return alive ? RTF_OK : RTF_CONNECTION_ERR;
}
