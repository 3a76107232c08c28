/* rtf-watch: gives users the scheduler's events of their own threads. The broker starts it when a
 * user traces (rtf-trace(1), rtf-why(1)), and ends it after the last trace. Standard input is a
 * SOCK_SEQPACKET socket from the broker; descriptor 3 is the root of tracefs. Each datagram has one
 * paragraph (lib/paragraph.h):
 *
 *     op=begin id uid threads causes
 *                               comes with a descriptor: the socket of a user's process
 *                               (watch-stream.h), which gets the events of these threads,
 *                               "TID:STARTED_BY ..."; causes 1: also the events that tell why jobs are late
 *     op=gone  tid              this thread is not attached any more
 *
 *     event=done id             this process gets nothing more
 *
 * rtf-watch reads no byte of a user. The kernel's events name the threads of all users. So all data
 * for a user go through scrub.h, and each thread is checked again before its records leave.
 *
 * rtf-watch has no real-time priority: a user who traces a lot disturbs nobody's reservation. The
 * instance in tracefs ends with this process (watch/trace-instance.h). */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "batch.h"
#include "capabilities.h"
#include "clients.h"
#include "clock.h"
#include "confine.h"
#include "paragraph.h"
#include "send-fds.h"
#include "units.h"
#include "watch-stream.h"
#include "watch/trace-events.h"

enum { TRACEFS = 3, BROKER = 0, EVENTS = 1, FIRST_CLIENT = 2 };

static struct {
    struct events *events; /* NULL: the kernel cannot record events */
    char why[EVENTS_WHY];  /* the reason if `events` is NULL */
    struct batch batch;
    bool records;
    struct client clients[CLIENTS_MAX];
} watch;

/* ---- recording ---- */

static void pass_on(void)
{
    bool more = true;
    while (more) {
        more = batch_take(&watch.batch, watch.events);
        for (int i = 0; i < CLIENTS_MAX; i++)
            if (watch.clients[i].socket >= 0 && !watch.clients[i].ends)
                client_pass_on(&watch.clients[i], &watch.batch);
    }
}

static void add_threads(const struct client *client, pid_t *threads, size_t *count)
{
    for (size_t i = 0; client->socket >= 0 && i < client->scrub.count; i++)
        threads[(*count)++] = client->scrub.threads[i].tid;
}

/* Lists the threads of all clients. The threads of clients that ask for causes come first. Returns
 * the number of these. */
static size_t list_threads(pid_t *threads, size_t *count)
{
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (watch.clients[i].causes)
            add_threads(&watch.clients[i], threads, count);
    const size_t causes = *count;
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (!watch.clients[i].causes)
            add_threads(&watch.clients[i], threads, count);
    return causes;
}

/* Makes the kernel record the events of the threads of all clients. The list still has threads that
 * are gone; their records never leave (scrub.h). */
static bool follow_all(void)
{
    static pid_t threads[CLIENTS_MAX * WATCH_THREADS];
    size_t count = 0;
    const size_t causes = list_threads(threads, &count);
    if (count == 0 && watch.records) {
        (void)events_end(watch.events);
        watch.records = false;
    }
    return (count == 0 || events_follow(watch.events, threads, count, causes > 0)) &&
           events_follow_causes(watch.events, threads, causes);
}

/* ---- clients ---- */

static void tell_done(uint64_t id)
{
    char text[64];
    const int length =
        snprintf(text, sizeof text, "event=done\nid=%llu\n\n", (unsigned long long)id);
    if (!send_with_fd(BROKER, text, (size_t)length, -1, MSG_NOSIGNAL))
        _exit(EX_OK); /* the broker has ended */
}

static void leave(struct client *client)
{
    const uint64_t id = client->id;
    client_close(client);
    if (watch.events != NULL)
        (void)follow_all();
    tell_done(id);
}

static void flush(struct client *client)
{
    if (!client_send(client) || (client->ends && client->unsent == NULL))
        leave(client);
}

static void refuse(struct client *client, int error)
{
    const bool too_many = watch.events != NULL && client->causes && error == E2BIG;
    client->causes = false; /* from now on the client has no part in events_follow_causes */
    client_refuse(client, too_many ? EX_TEMPFAIL : EX_UNAVAILABLE,
                  watch.events == NULL ? watch.why
                  : too_many ? "the users who run rtf why would have more than 64 threads in all"
                             : "the events of the scheduler cannot be switched on");
}

static void begin(struct client *client, bool causes)
{
    if (causes && watch.events != NULL)
        client_ask_causes(client, events_cpus(watch.events));
    if (watch.events == NULL || !follow_all()) {
        refuse(client, errno);
        return;
    }
    const int64_t now = watch.records ? monotonic_now() : events_begin(watch.events);
    watch.records = true;
    client_begin(client, now, &watch.batch, events_cpus(watch.events),
                 events_know_timers(watch.events), causes ? events_causes(watch.events) : 0);
}

/* Call this when the user's process has shut its socket down, or has ended. */
static void end(struct client *client)
{
    if (client->ends) {
        leave(client); /* the process does not read any more */
        return;
    }
    const int64_t now = monotonic_now();
    pass_on();
    client_end(client, now, &watch.batch, events_cpus(watch.events));
}

/* ---- the broker ---- */

static bool parse_thread(const char *word, struct scrub_thread *thread)
{
    unsigned long long started;
    int tid;
    *thread = (struct scrub_thread){0};
    if (sscanf(word, "%d:%llu", &tid, &started) != 2 || tid <= 0)
        return false;
    thread->tid = tid;
    thread->started_by = started;
    return true;
}

static bool parse_threads(const char *text, struct scrub *scrub)
{
    *scrub = (struct scrub){.threads = calloc(WATCH_THREADS, sizeof *scrub->threads)};
    if (scrub->threads == NULL)
        abort();
    while (scrub->count < WATCH_THREADS && parse_thread(text, &scrub->threads[scrub->count])) {
        scrub->count++;
        text += strcspn(text, " ");
        text += *text == ' ';
    }
    scrub_sort(scrub);
    return *text == '\0' && scrub->count > 0;
}

static struct client *free_client(void)
{
    for (int i = 0; i < CLIENTS_MAX; i++)
        if (watch.clients[i].socket < 0)
            return &watch.clients[i];
    return NULL;
}

static bool take_begin(const struct paragraph *said, int socket)
{
    struct client *client = free_client();
    const char *threads = paragraph_get(said, "threads");
    struct scrub scrub;
    uint64_t id, uid, causes;
    if (client == NULL || threads == NULL || socket < 0 ||
        paragraph_get_number(said, "id", UINT64_MAX, &id) != 1 ||
        paragraph_get_number(said, "uid", UINT32_MAX - 1, &uid) != 1 ||
        paragraph_get_number(said, "causes", 1, &causes) != 1 || !parse_threads(threads, &scrub))
        return false;
    client_open(client, socket, (uid_t)uid, scrub);
    client->id = id;
    begin(client, causes == 1);
    flush(client);
    return true;
}

static void take_gone(pid_t tid)
{
    if (watch.events == NULL)
        return;
    pass_on();
    for (int i = 0; i < CLIENTS_MAX; i++) {
        struct scrub_thread *thread =
            watch.clients[i].socket < 0 ? NULL : scrub_find(&watch.clients[i].scrub, tid);
        if (thread != NULL)
            thread->is_gone = true;
    }
}

static bool obey(const struct paragraph *said, int *socket)
{
    const char *op = paragraph_get(said, "op");
    uint64_t tid;
    if (op != NULL && strcmp(op, "gone") == 0 &&
        paragraph_get_number(said, "tid", INT32_MAX, &tid) == 1) {
        take_gone((pid_t)tid);
        return true;
    }
    if (op == NULL || strcmp(op, "begin") != 0 || !take_begin(said, *socket))
        return false;
    *socket = -1;
    return true;
}

/* Reads one datagram of the broker, and obeys it. False: the broker has ended. */
static bool hear(void)
{
    static struct paragraph_input input;
    static char bytes[PARAGRAPH_BYTES];
    struct paragraph said;
    const char *why;
    int fd;
    const ssize_t got = receive_with_fd(BROKER, bytes, sizeof bytes, &fd);
    const bool good = got > 0 && paragraph_feed(&input, bytes, (size_t)got) &&
                      paragraph_take(&input, &said, &why) == 1 && obey(&said, &fd);
    if (fd >= 0)
        close(fd);
    return good;
}

/* ---- the loop ---- */

static void attend(struct client *client, short events)
{
    if (client->socket >= 0 && (events & (POLLIN | POLLRDHUP | POLLHUP | POLLERR)) != 0)
        end(client);
    if (client->socket >= 0 && events != 0)
        flush(client);
}

static bool turn(void)
{
    struct pollfd fds[FIRST_CLIENT + CLIENTS_MAX] = {
        [BROKER] = {.fd = STDIN_FILENO, .events = POLLIN},
        [EVENTS] = {.fd = watch.records ? events_descriptor(watch.events) : -1, .events = POLLIN}};
    for (int i = 0; i < CLIENTS_MAX; i++) {
        const struct client *client = &watch.clients[i];
        fds[FIRST_CLIENT + i] =
            (struct pollfd){.fd = client->socket,
                            .events = (short)((client->ends ? 0 : POLLIN | POLLRDHUP) |
                                              (client->unsent != NULL ? POLLOUT : 0))};
    }
    if (poll(fds, sizeof fds / sizeof *fds, -1) < 0)
        return errno == EINTR;
    if (fds[EVENTS].revents != 0)
        pass_on();
    for (int i = 0; i < CLIENTS_MAX; i++) {
        if (fds[EVENTS].revents != 0 && watch.clients[i].socket >= 0)
            flush(&watch.clients[i]);
        attend(&watch.clients[i], fds[FIRST_CLIENT + i].revents);
    }
    return fds[BROKER].revents == 0 || hear();
}

/* ---- the beginning ---- */

static bool confine(void)
{
    static const char *const calls[] = {CONFINE_HELPER " stat sendto recvfrom epoll_wait", NULL};
    char path[48];
    const int instance =
        watch.events == NULL ? -1 : instance_open(events_instance(watch.events), "", O_PATH);
    snprintf(path, sizeof path, "/proc/self/fd/%d", instance);
    const struct confine_path files[] = {{"/proc", MAY_READ}, {path, MAY_WRITE}, {0}};
    if (!confine_proc_is_hidden())
        (void)confine_files(files); /* the broker reports a kernel without Landlock */
    if (instance >= 0)
        close(instance);
    return confine_calls(calls);
}

static bool open_events(void)
{
    static const struct sched_param none;
    const int powers[] = {confine_proc_is_hidden() ? CAP_SYS_PTRACE : -1, -1};
    if (sched_setscheduler(0, SCHED_OTHER, &none) != 0 || !confine_for_good() ||
        !capabilities_keep(powers))
        return false;
    watch.events = events_open(TRACEFS, watch.why);
    if (watch.events != NULL && !events_enable(watch.events)) {
        snprintf(watch.why, sizeof watch.why, "the events of the scheduler cannot be switched on");
        events_close(watch.events);
        watch.events = NULL;
    }
    watch.batch.dropped =
        calloc(watch.events == NULL ? 1 : events_cpus(watch.events), sizeof *watch.batch.dropped);
    return watch.batch.dropped != NULL;
}

int main(void)
{
    for (int i = 0; i < CLIENTS_MAX; i++)
        watch.clients[i].socket = -1;
    if (!open_events() || !confine()) {
        fprintf(stderr, "rtf-watch: cannot drop unneeded privileges: %s\n", strerror(errno));
        return EX_OSERR;
    }
    while (turn())
        ;
    /* _exit runs no functions of atexit(3): with them, sanitizers look for leaks by calls that the
     * filter refuses */
    _exit(EX_OK);
}
