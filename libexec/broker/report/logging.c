#include "logging.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop.h"
#include "moment.h"
#include "launcher.h"

/* Some thousand lines: for as long as a disk is busy with somebody else's. */
enum { PIPE_BYTES = 1 << 20, FINISH_WITHIN = 2000 /* ms */ };
static const int64_t second = INT64_C(1000000000); /* ns */

static void ended(struct source *source, uint32_t events);
static void has_room(struct source *source, uint32_t events);
static void start_again(struct timer *timer);

static struct source end_source = {.ready = ended}, room_source = {.ready = has_room};
static struct timer restart = {.due = start_again};
static int child = -1, log_directory = -1, to_writer = -1, from_broker = -1, end_of_writer = -1;
static bool waits_for_room;
static int64_t started;
static void (*tell)(void);

void logging_prepare(const char *program, void (*was_restarted)(void))
{
    tell = was_restarted;
    char *const argv[] = {(char *)program, NULL};
    child = launcher_add(CHILD_LOG, argv, (struct identity_to_run_as){0, 0});
}

/* Its standard output has no other use than to close with it. */
static bool start_writer(void)
{
    int ends[2];
    started = monotonic_now();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    bool good = launcher_start(child, from_broker, ends[1], log_directory);
    close(ends[1]);
    if (good && loop_add(ends[0], EPOLLIN, &end_source)) {
        end_of_writer = ends[0];
        return true;
    }
    close(ends[0]);
    return false;
}

bool logging_start(int directory)
{
    int ends[2];
    log_directory = directory;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    from_broker = ends[0];
    to_writer = ends[1];
    (void)fcntl(to_writer, F_SETPIPE_SZ, PIPE_BYTES);
    return fcntl(to_writer, F_SETFL, O_NONBLOCK) == 0 && start_writer();
}

static void wait_for_room(bool wanted)
{
    if (wanted == waits_for_room)
        return;
    if (!wanted)
        loop_remove(to_writer);
    waits_for_room = wanted && loop_add(to_writer, EPOLLOUT, &room_source);
}

size_t logging_send(const char *text, size_t length)
{
    size_t sent = 0;
    for (int tries = 0; to_writer >= 0 && sent < length && tries < MOMENT_TRIES; tries++) {
        ssize_t put = write(to_writer, text + sent, length - sent);
        if (put < 0 && errno == EAGAIN)
            break;
        sent += put < 0 ? 0 : (size_t)put;
    }
    if (to_writer >= 0)
        wait_for_room(sent < length);
    return sent;
}

/* There is no more to do: whoever writes to it does so at the end of each turn. */
static void has_room(struct source *source, uint32_t events)
{
    (void)source;
    (void)events;
}

static void ended(struct source *source, uint32_t events)
{
    (void)source;
    (void)events;
    loop_remove(end_of_writer);
    close(end_of_writer);
    end_of_writer = -1;
    timer_set(&restart, started + second); /* not more often */
}

static void start_again(struct timer *timer)
{
    if (start_writer())
        tell();
    else
        timer_set(timer, monotonic_now() + second);
}

static int left_until(int64_t until)
{
    const int64_t left = (until - monotonic_now()) / 1000000;
    return left < 0 ? 0 : (int)left;
}

bool logging_finish(const char *text, size_t length)
{
    const int64_t until = monotonic_now() + INT64_C(1000000) * FINISH_WITHIN;
    size_t sent = 0;
    if (to_writer < 0)
        return false;
    while ((sent += logging_send(text + sent, length - sent)) < length && left_until(until) > 0) {
        struct pollfd room = {.fd = to_writer, .events = POLLOUT};
        (void)poll(&room, 1, left_until(until));
    }
    close(to_writer);
    close(from_broker);
    to_writer = from_broker = -1;
    struct pollfd end = {.fd = end_of_writer, .events = POLLIN};
    while (end_of_writer >= 0 && poll(&end, 1, left_until(until)) < 0 && errno == EINTR)
        ;
    return true;
}

void logging_append(const char *spool, const char *text, size_t length)
{
    char path[4096];
    struct stat status;
    if (snprintf(path, sizeof path, "%s/log", spool) >= (int)sizeof path)
        return;
    int directory = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int file = directory < 0 ? -1 : openat(directory, "events.ndjson", O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640);
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        (void)!write(file, text, length);
    if (file >= 0)
        close(file);
    if (directory >= 0)
        close(directory);
}
