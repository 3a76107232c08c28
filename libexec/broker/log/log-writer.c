#include "log-writer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop.h"
#include "transient.h"
#include "supervise.h"
#include "units.h"

/* Room for some thousand lines, while the disk is busy. */
enum { PIPE_BYTES = 1 << 20, FINISH_WITHIN = 2000 /* ms */ };

static void log_writer_has_room(struct source *source, uint32_t events);

static struct {
    struct program writer;
    int to_writer, from_broker; /* the pipe; -1: closed */
    struct source room;
    bool waits_for_room;
} logging = {.to_writer = -1, .from_broker = -1, .room.ready = log_writer_has_room};

static const struct program_description writer_is = {
    .name = "the writer of the log",
    .meanwhile = "some lines may be missing",
    .kind = CHILD_LOG,
    .talk = COPROCESS_FED,
    SUPERVISE_EACH_SECOND,
};

void log_writer_prepare(const char *program)
{
    char *const argv[] = {(char *)program, NULL};
    supervise_prepare(&logging.writer, &writer_is, argv, (struct identity_to_run_as){0, 0});
}

bool log_writer_start(int directory)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    logging.from_broker = ends[0];
    logging.to_writer = ends[1];
    (void)fcntl(logging.to_writer, F_SETPIPE_SZ, PIPE_BYTES);
    return fcntl(logging.to_writer, F_SETFL, O_NONBLOCK) == 0 &&
           supervise_start(&logging.writer, logging.from_broker, directory);
}

static void log_writer_wait_for_room(bool wanted)
{
    if (wanted == logging.waits_for_room)
        return;
    if (!wanted)
        loop_remove(logging.to_writer);
    logging.waits_for_room = wanted && loop_add(logging.to_writer, EPOLLOUT, &logging.room);
}

size_t log_writer_send(const char *text, size_t length)
{
    size_t sent = 0;
    for (int tries = 0; logging.to_writer >= 0 && sent < length && tries < TRANSIENT_TRIES;
         tries++) {
        ssize_t put = write(logging.to_writer, text + sent, length - sent);
        if (put < 0 && errno == EAGAIN)
            break;
        sent += put < 0 ? 0 : (size_t)put;
    }
    if (logging.to_writer >= 0)
        log_writer_wait_for_room(sent < length);
    return sent;
}

/* Does nothing, because event_flush writes at the end of each turn. */
static void log_writer_has_room(struct source *source, uint32_t events)
{
    (void)source;
    (void)events;
}

bool log_writer_finish(const char *text, size_t length)
{
    const int64_t until = monotonic_now() + INT64_C(1000000) * FINISH_WITHIN;
    size_t sent = 0;
    if (logging.to_writer < 0)
        return false;
    while ((sent += log_writer_send(text + sent, length - sent)) < length &&
           monotonic_now() < until) {
        struct pollfd room = {.fd = logging.to_writer, .events = POLLOUT};
        (void)poll(&room, 1, poll_milliseconds(until - monotonic_now()));
    }
    close(logging.to_writer);
    close(logging.from_broker);
    logging.to_writer = logging.from_broker = -1;
    supervise_finish(&logging.writer);
    while (supervise_wait(&logging.writer, until))
        ;
    return true;
}

void log_writer_append(const char *spool, const char *text, size_t length)
{
    char path[4096];
    struct stat status;
    if (snprintf(path, sizeof path, "%s/log", spool) >= (int)sizeof path)
        return;
    int directory = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int file =
        directory < 0
            ? -1
            : openat(directory, "events.ndjson",
                     O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640);
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        (void)!write(file, text, length);
    if (file >= 0)
        close(file);
    if (directory >= 0)
        close(directory);
}
