#include "clients.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "thread.h"
#include "watch-stream.h"

/* If a user's process leaves this many bytes unread, rtf-watch concludes that the process does not
 * read at all. */
enum { UNSENT_MOST = 16 << 20 };

struct datagram {
    struct datagram *next;
    size_t length;
    char bytes[];
};

/* ---- the queue ---- */

static struct datagram *datagram_new(enum watch_kind kind, size_t length)
{
    struct datagram *datagram =
        /* zeroed, so that no old memory leaves this process */
        calloc(1, sizeof *datagram + sizeof(struct watch_head) + length);
    if (datagram == NULL)
        abort(); /* the guard removes the instance */
    ((struct watch_head *)(void *)datagram->bytes)->kind = kind;
    datagram->length = sizeof(struct watch_head);
    return datagram;
}

/* Appends to the datagram, which has room for the bytes. */
static void datagram_add(struct datagram *datagram, const void *bytes, size_t length)
{
    memcpy(datagram->bytes + datagram->length, bytes, length);
    datagram->length += length;
}

static void queue(struct client *client, struct datagram *datagram, size_t count)
{
    ((struct watch_head *)(void *)datagram->bytes)->count = (uint32_t)count;
    *client->last = datagram;
    client->last = &datagram->next;
    client->unsent_bytes += sizeof *datagram + datagram->length;
}

static void drop_first(struct client *client)
{
    struct datagram *first = client->unsent;
    client->unsent = first->next;
    client->unsent_bytes -= sizeof *first + first->length;
    if (client->unsent == NULL)
        client->last = &client->unsent;
    free(first);
}

bool client_send(struct client *client)
{
    while (client->unsent != NULL) {
        if (send(client->socket, client->unsent->bytes, client->unsent->length,
                 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            return (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) &&
                   client->unsent_bytes <= UNSENT_MOST;
        drop_first(client);
    }
    return true;
}

/* ---- begin and end ---- */

void client_open(struct client *client, int socket, uid_t uid, struct scrub scrub)
{
    *client = (struct client){.socket = socket, .uid = uid, .scrub = scrub};
    client->last = &client->unsent;
}

/* True if `other` is a thread of the same process and user as `tid`, and began before this client.
 * A thread that began later may have got the id of a former thread of another user. */
static bool look_at_relative(const struct client *client, pid_t tid, pid_t other)
{
    struct identity own, identity;
    return thread_owner_of(tid, &own) && thread_identify(other, &identity) &&
           identity.process == own.process && thread_is_of(&identity, client->uid) &&
           identity.start < client->began;
}

/* True if `other` is a relative of `tid` (scrub.h). A user can let threads wake each other very
 * often. So for each batch, rtf-watch looks up few pairs, and each pair only once. */
static bool is_relative(void *context, pid_t tid, pid_t other)
{
    struct client *client = context;
    for (int i = 0; i < CLIENT_RELATIVES; i++) {
        if (client->relatives[i].thread == 0) {
            client->relatives[i].thread = tid;
            client->relatives[i].other = other;
            client->relatives[i].is = look_at_relative(client, tid, other);
        }
        if (client->relatives[i].thread == tid && client->relatives[i].other == other)
            return client->relatives[i].is;
    }
    return false;
}

void client_ask_causes(struct client *client, unsigned cpus)
{
    client->causes = true;
    client->began = thread_now();
    client->scrub.occupancy = occupancy_new(cpus);
    client->scrub.is_relative = is_relative;
    client->scrub.context = client;
    if (client->scrub.occupancy == NULL)
        abort();
}

void client_close(struct client *client)
{
    while (client->unsent != NULL)
        drop_first(client);
    close(client->socket);
    free(client->scrub.threads);
    occupancy_free(client->scrub.occupancy);
    free(client->dropped);
    *client = (struct client){.socket = -1};
}

void client_refuse(struct client *client, int status, const char *sentence)
{
    struct datagram *datagram = datagram_new(WATCH_REFUSED, strlen(sentence));
    datagram_add(datagram, sentence, strlen(sentence));
    queue(client, datagram, (size_t)status);
    client->ends = true;
}

void client_begin(struct client *client, int64_t time, const struct batch *batch, unsigned cpus,
                  bool knows_timers, unsigned causes)
{
    const struct watch_begin begin = {.time = time,
                                      .cpus = cpus,
                                      .knows_timers = knows_timers,
                                      .causes = (uint16_t)causes};
    struct datagram *datagram =
        datagram_new(WATCH_BEGIN, sizeof begin + client->scrub.count * sizeof(int32_t));
    datagram_add(datagram, &begin, sizeof begin);
    for (size_t i = 0; i < client->scrub.count; i++)
        datagram_add(datagram, &client->scrub.threads[i].tid, sizeof(int32_t));
    queue(client, datagram, client->scrub.count);
    client->begin = time;
    client->dropped = calloc(cpus, sizeof *client->dropped);
    if (client->dropped == NULL)
        abort();
    memcpy(client->dropped, batch->dropped, cpus * sizeof *client->dropped);
}

void client_end(struct client *client, int64_t time, const struct batch *batch, unsigned cpus)
{
    const struct watch_end end = {.time = time};
    struct datagram *datagram = datagram_new(WATCH_END, sizeof end + cpus * sizeof(uint64_t));
    datagram_add(datagram, &end, sizeof end);
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        const uint64_t dropped = batch->dropped[cpu] - client->dropped[cpu];
        datagram_add(datagram, &dropped, sizeof dropped);
    }
    queue(client, datagram, 0);
    client->ends = true;
}

/* ---- who is who ---- */

static bool is_still_own(const struct client *client, const struct scrub_thread *thread)
{
    struct identity identity;
    return thread_owner_of(thread->tid, &identity) && thread_is_of(&identity, client->uid) &&
           thread_is(thread->tid, thread->started_by);
}

static bool ends_in(const struct batch *batch, pid_t tid)
{
    for (size_t i = 0; i < batch->count; i++)
        if (batch->events[i].record.kind == RECORD_SWITCH &&
            batch->events[i].record.thread == tid &&
            (batch->events[i].record.state & STATE_ENDED) != 0)
            return true;
    return false;
}

/* Checks after a batch that each thread is still the user's. If it is, all records of the batch are
 * the thread's. If it is not, and the batch has the end of the thread, the records before this end
 * are the thread's. Without this end, the records may be of a later thread with the same id, and
 * the thread is gone. Sets lost[] for each thread that is not the user's any more. */
static void check_threads(struct client *client, const struct batch *batch, bool *lost)
{
    for (size_t i = 0; i < client->scrub.count; i++) {
        struct scrub_thread *thread = &client->scrub.threads[i];
        lost[i] = !thread->is_gone && !is_still_own(client, thread);
        if (lost[i] && !ends_in(batch, thread->tid))
            thread->is_gone = true;
    }
}

static void forget_lost(struct client *client, const bool *lost)
{
    for (size_t i = 0; i < client->scrub.count; i++)
        client->scrub.threads[i].is_gone |= lost[i];
}

/* ---- records ---- */

static void pass_name(struct client *client, struct scrub_thread *thread,
                      const char name[static RECORD_NAME])
{
    struct watch_name told = {.thread = 0};
    if (thread == NULL || memcmp(thread->name, name, RECORD_NAME) == 0)
        return;
    struct datagram *datagram = datagram_new(WATCH_NAMES, sizeof told);
    memcpy(thread->name, name, RECORD_NAME);
    told.thread = thread->tid;
    memcpy(told.text, name, RECORD_NAME);
    datagram_add(datagram, &told, sizeof told);
    queue(client, datagram, 1);
}

/* Queues the names of the user's threads in an event. Call this before scrub_take, because a thread
 * that ends is gone after scrub_take. */
static void pass_names(struct client *client, const struct event *event)
{
    if (event->record.kind != RECORD_SWITCH)
        return;
    pass_name(client, scrub_find(&client->scrub, event->record.thread), event->from);
    pass_name(client, scrub_find(&client->scrub, event->record.next), event->to);
}

/* Copies each member, because the bytes between the members may have old memory. */
static void datagram_add_record(struct datagram *datagram, const struct record *record)
{
    struct record *copy = (struct record *)(void *)(datagram->bytes + datagram->length);
    copy->time = record->time;
    copy->kind = record->kind;
    copy->wait = record->wait;
    copy->cpu = record->cpu;
    copy->to_cpu = record->to_cpu;
    copy->state = record->state;
    copy->priority = record->priority;
    copy->next_priority = record->next_priority;
    copy->thread = record->thread;
    copy->next = record->next;
    copy->others = record->others;
    copy->call = record->call;
    copy->timer = record->timer;
    copy->expires = record->expires;
    datagram->length += sizeof *record;
}

static void pass_records(struct client *client, const struct batch *batch)
{
    enum { MOST = (WATCH_DATAGRAM - sizeof(struct watch_head)) / sizeof(struct record) };
    struct datagram *datagram = NULL;
    struct record seen;
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const struct event *event = &batch->events[i];
        if (event->record.time < client->begin)
            continue;
        pass_names(client, event);
        if (!scrub_take(&client->scrub, &event->record, &seen))
            continue;
        if (datagram == NULL)
            datagram = datagram_new(WATCH_RECORDS, MOST * sizeof seen);
        datagram_add_record(datagram, &seen);
        if (++count < MOST)
            continue;
        queue(client, datagram, count);
        datagram = NULL;
        count = 0;
    }
    if (datagram != NULL)
        queue(client, datagram, count);
}

void client_pass_on(struct client *client, const struct batch *batch)
{
    bool lost[WATCH_THREADS] = {false};
    memset(client->relatives, 0, sizeof client->relatives);
    check_threads(client, batch, lost);
    pass_records(client, batch);
    forget_lost(client, lost);
}
