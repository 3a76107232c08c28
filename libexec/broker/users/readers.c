#include "readers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transient.h"
#include "send-fds.h"
#include "reservation.h"
#include "program-file.h"

/* OUTPUT_MAX: a reader that leaves so many bytes unread does not read at all, and is killed.
 * HEARD_AT_ONCE: the most datagrams that the broker takes from a reader at once, so that a reader
 * that never stops sending does not delay other readers. */
enum { DATAGRAM_BYTES = 8192, TEXT_BYTES = 4000, OUTPUT_MAX = 4 << 20, HEARD_AT_ONCE = 16 };
static const int64_t answer_within = INT64_C(10000000000), first_pause = INT64_C(100000000),
                     longest_pause = INT64_C(60000000000), good_behaviour = INT64_C(60000000000);

/* The number by which the launcher knows a reader. */
struct slot {
    SLIST_ENTRY(slot) next;
    int number;
};

static struct {
    const struct reader_events *tell;
    TAILQ_HEAD(, user) unsent; /* users with output that has not been sent */
    SLIST_HEAD(, slot) free_slots;
    int slot_count;
    /* bytes: the datagram that is handled; ignored: a datagram that is dropped */
    char bytes[65536], ignored[65536];
} readers;

void readers_prepare(char *path, struct identity_to_run_as as, const struct reader_events *events)
{
    char *const argv[] = {path, NULL};
    (void)launcher_add(CHILD_READER, argv, as);
    readers.tell = events;
    TAILQ_INIT(&readers.unsent);
}

static void ready(struct source *source, uint32_t events);
static void wake(struct source *source, uint32_t events);
static void due(struct timer *timer);

void reader_init(struct user *user)
{
    user->reader = (struct reader){.source.ready = ready,
                                   .wake.ready = wake,
                                   .timer = {.due = due},
                                   .socket = -1,
                                   .inotify = -1};
}

void open_file_close(const struct user *user, struct open_file *file)
{
    if (file->fd < 0)
        return;
    if (user->reader.state != READER_NONE && user->reader.life == file->life)
        close(file->fd);
    else
        readers.tell->dispose(file->fd);
    file->fd = -1;
}

/* ---- slots ---- */

static struct slot *take_slot(void)
{
    struct slot *slot = SLIST_FIRST(&readers.free_slots);
    if (slot != NULL)
        SLIST_REMOVE_HEAD(&readers.free_slots, next);
    else if (readers.slot_count < READERS_MAX) {
        slot = calloc(1, sizeof *slot);
        if (slot == NULL)
            abort();
        slot->number = readers.slot_count++;
    }
    return slot;
}

static void free_slot(struct reader *reader)
{
    if (reader->slot == NULL)
        return;
    launcher_end_reader(reader->slot->number);
    SLIST_INSERT_HEAD(&readers.free_slots, reader->slot, next);
    reader->slot = NULL;
}

/* ---- the time for an answer ---- */

/* Sets the time by which the reader has to answer: answer_within after the first unanswered
 * question, or after the reader's last message if this is later. */
static void reckon(struct user *user, bool was_heard)
{
    struct reader *reader = &user->reader;
    if (reader->state == READER_NONE)
        return; /* in READER_NONE, the timer says when the next reader starts */
    if (reader->state != READER_RUNS || (reader->asked == 0 && reader->output.length == 0))
        timer_end(&reader->timer);
    else if (reader->timer.at == 0 || was_heard)
        timer_set(&reader->timer, monotonic_now() + answer_within);
}

/* ---- starting and ending ---- */

static void wait_for_room(struct reader *reader, bool wanted)
{
    if (wanted != reader->writing)
        loop_change(reader->socket, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, &reader->source);
    reader->writing = wanted;
}

static bool spawn(struct user *user)
{
    int ends[2];
    struct reader *reader = &user->reader;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    reader->slot = take_slot();
    /* Only the broker's end is non-blocking. The reader may wait until the socket has room, because
     * the broker always reads. */
    bool started = reader->slot != NULL && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 &&
                   launcher_start_reader(reader->slot->number, user->uid, ends[1], user->directory,
                                         reader->inotify);
    close(ends[1]);
    reader->socket = ends[0];
    reader->writing = false;
    if (started && loop_add(reader->socket, EPOLLIN, &reader->source))
        return true;
    close(ends[0]);
    reader->socket = -1;
    free_slot(reader);
    return false;
}

static void add_op(struct user *user, const char *op, const char *name)
{
    paragraph_add(&user->reader.output, "op", op);
    if (name != NULL)
        paragraph_add(&user->reader.output, "name", name);
}

static void flush_soon(struct user *user)
{
    if (!user->reader.unsent)
        TAILQ_INSERT_TAIL(&readers.unsent, user, reader.of_unsent);
    user->reader.unsent = true;
}

static void add_scan(struct user *user)
{
    add_op(user, "scan", NULL);
    paragraph_add_number(&user->reader.output, "since", (uint64_t)realtime_now());
}

static void start(struct user *user)
{
    struct reader *reader = &user->reader;
    const int64_t now = monotonic_now();
    if (reader->state != READER_NONE || user->state == DIRECTORY_GONE || user->directory < 0)
        /* no reader can start without the directory's descriptor; when the broker gets the
         * descriptor, a scan starts the reader */
        return;
    if (now < reader->start_at) {
        timer_set(&reader->timer, reader->start_at);
        return;
    }
    timer_end(&reader->timer);
    if (reader->inotify >= 0)
        /* from here on the reader, and not the broker, waits for events of the inotify instance */
        loop_remove(reader->inotify);
    if (!spawn(user)) {
        reader->start_at = now + first_pause;
        timer_set(&reader->timer, reader->start_at);
        return;
    }
    reader->state = READER_RUNS;
    reader->life++;
    reader->started = now;
    if (reader->scan_owed) {
        add_scan(user);
        paragraph_close(&reader->output);
    }
    reckon(user, false);
    flush_soon(user);
}

static void send_soon(struct user *user)
{
    struct reader *reader = &user->reader;
    paragraph_close(&reader->output);
    start(user);
    reckon(user, false);
    flush_soon(user);
    if (reader->output.length > OUTPUT_MAX)
        reader_fail(user, "the user's reader does not read the broker's messages");
}

static void kill_it(struct user *user)
{
    launcher_end_reader(user->reader.slot->number);
    user->reader.state = READER_KILLED;
    timer_end(&user->reader.timer);
}

/* The socket is closed, because the reader has ended. */
static void hung_up(struct user *user)
{
    struct reader *reader = &user->reader;
    const int64_t now = monotonic_now();
    const bool in_order = reader->state == READER_ENDS;
    loop_remove(reader->socket);
    close(reader->socket);
    reader->socket = -1;
    free_slot(reader);
    paragraph_input_free(&reader->input);
    readers.tell->unwatch(user, NULL);
    const bool behaved = now - reader->started > good_behaviour;
    reader->asked = 0;
    reader->state = READER_NONE;
    timer_end(&reader->timer);
    if (in_order) {
        if (reader->output.length > 0 || reader->inotify < 0 ||
            !loop_add(reader->inotify, EPOLLIN, &reader->wake))
            /* if the loop does not watch the inotify instance, only a reader can notice events */
            start(user);
        else
            paragraph_output_free(&reader->output);
        return;
    }
    reader->pause = behaved || reader->pause == 0       ? first_pause
                    : reader->pause * 2 < longest_pause ? reader->pause * 2
                                                        : longest_pause;
    reader->start_at = behaved ? now : now + reader->pause;
    reader->scan_owed = true;
    readers.tell->lost(user, "the user's reader ended, and is started again");
    start(user);
}

void reader_fail(struct user *user, const char *why)
{
    if (user->reader.state != READER_RUNS)
        return;
    user->reader.output.length = 0;
    readers.tell->lost(user, why);
    kill_it(user);
}

void reader_leave(struct user *user)
{
    struct reader *reader = &user->reader;
    if (reader->unsent)
        TAILQ_REMOVE(&readers.unsent, user, reader.of_unsent);
    reader->unsent = false;
    timer_end(&reader->timer);
    if (reader->socket >= 0) {
        loop_remove(reader->socket);
        close(reader->socket);
    } else if (reader->inotify >= 0)
        loop_remove(reader->inotify);
    reader->socket = -1;
    free_slot(reader);
    /* another process closes the inotify instance, because its last close(2) takes the kernel some
     * ms */
    if (reader->inotify >= 0)
        readers.tell->dispose(reader->inotify);
    reader->inotify = -1;
    reader->state = READER_NONE;
    readers.tell->unwatch(user, NULL);
    paragraph_input_free(&reader->input);
    paragraph_output_free(&reader->output);
}

/* ---- orders to the reader ---- */

void reader_scan(struct user *user)
{
    struct reader *reader = &user->reader;
    if (user->state == DIRECTORY_GONE)
        return;
    const bool owed = reader->scan_owed;
    reader->scan_owed = true;
    start(user);
    if (owed || reader->state == READER_NONE)
        return; /* a new reader begins with a scan anyway */
    add_scan(user);
    send_soon(user);
}

void reader_look(struct user *user, const char *name, bool whole)
{
    if (user->state == DIRECTORY_GONE)
        return;
    add_op(user, "look", name);
    if (whole)
        paragraph_add(&user->reader.output, "whole", "1");
    user->reader.asked++;
    send_soon(user);
}

void reader_verdict(struct user *user, const char *name, const struct told_verdict *verdict)
{
    const char *text = verdict->text;
    size_t length = verdict->length;
    struct paragraph_output *output = &user->reader.output;
    char chunk[TEXT_BYTES + 1];
    if (user->state == DIRECTORY_GONE)
        return;
    for (; length > TEXT_BYTES; length -= TEXT_BYTES, text += TEXT_BYTES) {
        memcpy(chunk, text, TEXT_BYTES);
        chunk[TEXT_BYTES] = '\0';
        paragraph_add(output, "op", "text");
        paragraph_add(output, "text", chunk);
        paragraph_close(output);
    }
    memcpy(chunk, text, length);
    chunk[length] = '\0';
    add_op(user, "verdict", name);
    paragraph_add_number(output, "decided", (uint64_t)verdict->decided);
    paragraph_add(output, "request", verdict->request);
    if (verdict->answers)
        paragraph_add(output, "answers", "1");
    if (verdict->more)
        paragraph_add(output, "more", "1");
    paragraph_add(output, "text", chunk);
    send_soon(user);
}

void reader_done(struct user *user, const char *name)
{
    if (user->state == DIRECTORY_GONE || user->reader.state == READER_NONE ||
        user->reader.state == READER_KILLED)
        return; /* no message is needed, because a new reader knows no files */
    add_op(user, "done", name);
    send_soon(user);
}

static void remove_file(struct user *user, const char *name, const char *file,
                        const struct stamp *judged, const char *released)
{
    if (user->state == DIRECTORY_GONE)
        return;
    add_op(user, "remove", name);
    paragraph_add(&user->reader.output, "file", file);
    if (judged != NULL)
        stamp_add(&user->reader.output, "judged", judged);
    if (released != NULL)
        paragraph_add(&user->reader.output, "released", released);
    send_soon(user);
}

void reader_remove(struct user *user, const char *name, const char *file,
                   const struct stamp *judged)
{
    remove_file(user, name, file, judged, NULL);
}

void reader_release(struct user *user, const char *name, const char *why)
{
    remove_file(user, name, "verdict", NULL, why);
}

void reader_task(struct user *user, const char *name, const struct paragraph *said)
{
    static const char *const keys[] = {"event", "process", "started", "tid",
                                       "comm",  "first",   "reason"};
    if (user->reader.state != READER_RUNS)
        return;
    add_op(user, "task", name);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = paragraph_get(said, keys[i]);
        if (value != NULL)
            paragraph_add(&user->reader.output, keys[i], value);
    }
    send_soon(user);
}

/* The number of bytes from `from` on that go into the next datagram: only whole paragraphs. */
static size_t datagram_length(const struct paragraph_output *output, size_t from)
{
    const size_t left = output->length - from;
    if (left <= DATAGRAM_BYTES)
        return left;
    size_t length = DATAGRAM_BYTES;
    while (length > 2 && memcmp(output->data + from + length - 2, "\n\n", 2) != 0)
        length--;
    return length;
}

static void flush(struct user *user)
{
    struct reader *reader = &user->reader;
    size_t sent = 0;
    if (reader->state != READER_RUNS)
        return;
    bool full = false;
    int tries = 0;
    while (sent < reader->output.length && !full) {
        const size_t length = datagram_length(&reader->output, sent);
        if (send_with_fds(reader->socket, reader->output.data + sent, length, NULL, 0,
                          MSG_NOSIGNAL | MSG_DONTWAIT))
            sent += length;
        else if (errno == EAGAIN || !is_transient(errno) || ++tries >= TRANSIENT_TRIES)
            /* the socket is full; or the reader has ended, which the socket will report */
            full = true;
    }
    if (sent > 0)
        paragraph_drop(&reader->output, sent);
    reckon(user, sent > 0 && reader->asked == 0);
    wait_for_room(reader, reader->output.length > 0);
}

void readers_flush(void)
{
    struct user *user;
    while ((user = TAILQ_FIRST(&readers.unsent)) != NULL) {
        TAILQ_REMOVE(&readers.unsent, user, reader.of_unsent);
        user->reader.unsent = false;
        flush(user);
    }
}

/* Drops reports that still come, because the next broker looks at all files. */
bool reader_finish(struct user *user)
{
    struct reader *reader = &user->reader;
    ssize_t got;
    int fd;
    if (!reader->has_last_word && reader->state == READER_NONE) {
        /* starts the next reader at once: if the last reader crashed, the pause may be longer than
         * the broker still runs */
        reader->start_at = 0;
        start(user);
    }
    if (reader->state != READER_RUNS)
        return false;
    if (!reader->has_last_word) {
        add_op(user, "last", NULL);
        paragraph_close(&reader->output);
    }
    reader->has_last_word = true;
    flush(user);
    int heard = 0;
    do {
        got = receive_with_fd(reader->socket, readers.ignored, sizeof readers.ignored, &fd);
        if (fd >= 0)
            readers.tell->dispose(fd);
    } while (got > 0 && ++heard < HEARD_AT_ONCE);
    return got > 0 || (got < 0 && is_transient(errno));
}

/* ---- messages of the reader ---- */

static void take_inotify(struct user *user, int *fd)
{
    if (user->reader.inotify >= 0 || *fd < 0)
        return;
    user->reader.inotify = *fd;
    *fd = -1;
}

static bool take_files(struct user *user, const struct paragraph *said, const char *name, int *fd)
{
    struct snapshot snapshot;
    if (!snapshot_get(said, &snapshot)) {
        spec_free(&snapshot.spec);
        return false;
    }
    const struct open_file json = {*fd, user->reader.life};
    *fd = -1;
    if (user->reader.asked > 0)
        user->reader.asked--;
    readers.tell->files(user, name, &snapshot, json);
    return true;
}

static bool take_seen(struct user *user, const struct paragraph *said, const char *name)
{
    struct stamp json, tid;
    uint64_t decided;
    const bool has_json = paragraph_get(said, "json_inode") != NULL,
               has_tid = paragraph_get(said, "tid_inode") != NULL;
    if (!stamp_get(said, "json", &json) || !stamp_get(said, "tid", &tid))
        return false;
    const int has_verdict = paragraph_get_number(said, "verdict", INT64_MAX, &decided);
    if (has_json)
        readers.tell->seen_file(user, name, true, &json);
    if (has_tid)
        readers.tell->seen_file(user, name, false, &tid);
    if (has_verdict == 1)
        readers.tell->seen_verdict(user, name, (int64_t)decided);
    return has_json || has_tid || has_verdict == 1;
}

/* Call this when the reader has nothing to do. If the broker has no order for the reader either,
 * tells the reader to end. This message is sent directly and not through the output, because unsent
 * output goes to the next reader if this reader ends first. */
static void take_idle(struct user *user)
{
    static const char end[] = "op=end\n\n";
    if (user->reader.output.length == 0 && user->reader.asked == 0)
        (void)send_with_fds(user->reader.socket, end, sizeof end - 1, NULL, 0,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Takes the request for a watch of a process, a program or a cgroup. The broker never opens the
 * path of a program or cgroup; rtf-tasks only compares the path. */
static bool take_watch(struct user *user, const struct paragraph *said, const char *name)
{
    const char *program = paragraph_get(said, "program"), *group = paragraph_get(said, "cgroup");
    uint64_t process = 0;
    if (paragraph_get_number(said, "process", TID_MAX, &process) < 0 ||
        (process != 0) + (program != NULL) + (group != NULL) != 1 ||
        reservation_name_of_program(name) != 0 ||
        (program != NULL && strlen(program) >= PROGRAM_PATH_BYTES) ||
        (group != NULL && strlen(group) >= PROGRAM_PATH_BYTES))
        return false;
    readers.tell->watch(user, name,
                        &(struct watch_of){.process = (pid_t)process,
                                           .program = program,
                                           .group = group});
    return true;
}

static bool take_about_name(struct user *user, const struct paragraph *said, const char *event,
                            int *fd)
{
    const char *name = paragraph_get(said, "name"), *reason = paragraph_get(said, "reason"),
               *request = paragraph_get(said, "request");
    if (name == NULL)
        return false;
    if (strcmp(event, "odd") == 0) {
        readers.tell->odd(user, name);
        return true;
    }
    if (!reservation_name_is_valid(name))
        return false;
    if (strcmp(event, "files") == 0)
        return take_files(user, said, name, fd);
    if (strcmp(event, "seen") == 0)
        return take_seen(user, said, name);
    if (strcmp(event, "watch") == 0)
        return take_watch(user, said, name);
    if (strcmp(event, "unwatch") == 0)
        readers.tell->unwatch(user, name);
    else if (strcmp(event, "news") == 0)
        readers.tell->news(user, name);
    else if (strcmp(event, "unwritten") == 0)
        readers.tell->unwritten(user, name, request == NULL ? "" : request,
                                reason == NULL ? "" : reason);
    else
        return false;
    return true;
}

static bool take_scanning(struct user *user, const struct paragraph *said)
{
    uint64_t since;
    if (paragraph_get_number(said, "since", INT64_MAX, &since) != 1)
        return false;
    readers.tell->scanning(user, (int64_t)since);
    return true;
}

static bool take_one(struct user *user, const struct paragraph *said, int *fd)
{
    const char *event = paragraph_get(said, "event");
    if (event == NULL)
        return false;
    if (strcmp(event, "idle") == 0) {
        take_idle(user);
        return true;
    }
    if (strcmp(event, "ended") == 0)
        user->reader.state = READER_ENDS;
    else if (strcmp(event, "overflow") == 0)
        readers.tell->overflow(user);
    else if (strcmp(event, "inotify") == 0)
        take_inotify(user, fd);
    else if (strcmp(event, "scanning") == 0)
        return take_scanning(user, said);
    else if (strcmp(event, "scanned") == 0) {
        user->reader.scan_owed = false;
        readers.tell->scanned(user);
    } else
        return take_about_name(user, said, event, fd);
    return true;
}

/* Takes only one datagram, so that a reader that sends much does not take more of the broker's time
 * than other readers. */
static void receive(struct user *user)
{
    struct reader *reader = &user->reader;
    struct paragraph said;
    const char *why = "the user's reader sent a message that is not valid";
    int fd, taken = 0;
    if (reader->socket < 0)
        return;
    if (reader->writing)
        flush(user);
    const ssize_t got = receive_with_fd(reader->socket, readers.bytes, sizeof readers.bytes, &fd);
    if (got < 0 && is_transient(errno))
        return;
    if (got <= 0) {
        hung_up(user);
        return;
    }
    if (reader->state != READER_KILLED &&
        paragraph_feed(&reader->input, readers.bytes, (size_t)got))
        while (reader->state != READER_KILLED &&
               (taken = paragraph_take(&reader->input, &said, &why)) == 1)
            if (!take_one(user, &said, &fd)) {
                taken = -1;
                break;
            }
    if (fd >= 0)
        readers.tell->dispose(fd); /* the message should not have had a descriptor */
    if (taken < 0)
        reader_fail(user, why);
    reckon(user, true);
}

/* ---- functions that the loop calls ---- */

static void ready(struct source *source, uint32_t events)
{
    (void)events;
    receive(container_of(source, struct user, reader.source));
}

/* The loop calls this when there is an event in the directory of a user without a reader. */
static void wake(struct source *source, uint32_t events)
{
    (void)events;
    start(container_of(source, struct user, reader.wake));
}

static void due(struct timer *timer)
{
    struct user *user = container_of(timer, struct user, reader.timer);
    if (user->reader.state == READER_NONE)
        start(user);
    else
        reader_fail(user, "the user's reader does not answer");
}
