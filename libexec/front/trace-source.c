#include "trace-source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "client.h"
#include "clock.h"
#include "command-line.h"
#include "watch-stream.h"

/* ---- root ---- */

void trace_source_root(struct trace_source *source, const struct chosen *chosen, bool keep_pages,
                       bool causes)
{
    char why[EVENTS_WHY];
    pid_t *tids = calloc(chosen->count + 1, sizeof *tids);
    if (tids == NULL)
        command_fail(EX_OSERR, "no memory");
    for (size_t i = 0; i < chosen->count; i++)
        tids[i] = chosen->threads[i].tid;
    *source = (struct trace_source){.socket = -1,
                                    .recorder = recorder_open(tids, chosen->count, causes, why)};
    free(tids);
    if (source->recorder == NULL)
        command_fail(EX_UNAVAILABLE, "%s", why);
    source->recording = recorder_recording(source->recorder);
    source->knows_timers = events_know_timers(recorder_events(source->recorder));
    source->causes = causes ? events_causes(recorder_events(source->recorder)) : 0;
    if (keep_pages)
        recorder_keep_pages(source->recorder);
}

/* ---- users: the datagrams of rtf-watch ---- */

__attribute__((noreturn)) static void fail_broken(void)
{
    command_fail(EX_PROTOCOL, "rtf-watch has sent data that this program does not understand");
}

/* Copies the next part of a datagram, and moves on. */
static void take_part(const char **at, const char *end, void *part, size_t size)
{
    if ((size_t)(end - *at) < size)
        fail_broken();
    memcpy(part, *at, size);
    *at += size;
}

__attribute__((noreturn)) static void take_refusal(const char *at, const char *end, unsigned status)
{
    char sentence[512], printable[1024];
    snprintf(sentence, sizeof sentence, "%.*s", (int)(end - at), at);
    command_fail((int)(status & 0x7f), "%s",
                 client_printable(sentence, printable, sizeof printable));
}

static void take_begin(struct trace_source *source, const char *at, const char *end, unsigned count)
{
    struct watch_begin begin;
    take_part(&at, end, &begin, sizeof begin);
    if (source->recording != NULL || begin.cpus == 0 || begin.cpus > 1 << 16 ||
        count > sizeof source->threads / sizeof *source->threads)
        fail_broken();
    source->recording = recording_new(begin.cpus);
    if (source->recording == NULL)
        command_fail(EX_OSERR, "no memory");
    take_part(&at, end, source->threads, count * sizeof *source->threads);
    source->thread_count = count;
    source->begin = begin.time;
    source->knows_timers = begin.knows_timers != 0;
    source->causes = begin.causes;
}

static void take_names(const struct trace_source *source, const char *at, const char *end,
                       unsigned count)
{
    struct watch_name name;
    for (unsigned i = 0; i < count; i++) {
        take_part(&at, end, &name, sizeof name);
        recording_put_name(source->recording, name.thread, name.text);
    }
}

/* rtf-watch names traced threads. Other threads of the same process, which have held locks, are
 * named here while they run. */
static void note_holder(const struct trace_source *source, pid_t holder)
{
    char known[RECORDING_NAME], name[RECORD_NAME] = "", path[48];
    recording_name(source->recording, holder, known);
    if (known[0] != '\0')
        return;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)holder);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd < 0 ? -1 : read(fd, name, sizeof name);
    if (fd >= 0)
        close(fd);
    if (length > 0 && name[length - 1] == '\n')
        name[length - 1] = '\0';
    if (length > 0)
        recording_put_name(source->recording, holder, name);
}

/* Takes the records in a datagram. False: there is no room for more records. */
static bool take_records(const struct trace_source *source, const char *at, const char *end,
                         unsigned count)
{
    struct record record;
    for (unsigned i = 0; i < count; i++) {
        take_part(&at, end, &record, sizeof record);
        if (record.cpu >= recording_cpus(source->recording))
            fail_broken();
        if (record.time < source->begin || (source->end != 0 && record.time > source->end))
            continue;
        if (record.kind == RECORD_WAKING && record.next != 0)
            note_holder(source, record.next);
        if (!recording_add(source->recording, &record))
            return false;
    }
    return true;
}

static void take_end(struct trace_source *source, const char *at, const char *end)
{
    struct watch_end last;
    uint64_t dropped;
    take_part(&at, end, &last, sizeof last);
    for (unsigned cpu = 0; cpu < recording_cpus(source->recording); cpu++) {
        take_part(&at, end, &dropped, sizeof dropped);
        recording_drop(source->recording, cpu, dropped);
    }
    source->has_ended = true;
}

static bool take_datagram(struct trace_source *source, const char *at, size_t length)
{
    const char *end = at + length;
    struct watch_head head;
    take_part(&at, end, &head, sizeof head);
    if (head.kind == WATCH_REFUSED)
        take_refusal(at, end, head.count);
    if ((source->recording == NULL) != (head.kind == WATCH_BEGIN))
        fail_broken();
    switch ((enum watch_kind)head.kind) {
    case WATCH_BEGIN: take_begin(source, at, end, head.count); return true;
    case WATCH_NAMES: take_names(source, at, end, head.count); return true;
    case WATCH_RECORDS: return take_records(source, at, end, head.count);
    case WATCH_END: take_end(source, at, end); return true;
    case WATCH_REFUSED: break;
    }
    fail_broken();
}

/* Takes one datagram. False: there is no room for more records. */
static bool receive(struct trace_source *source, int flags)
{
    static char bytes[2 * WATCH_DATAGRAM];
    const ssize_t got = recv(source->socket, bytes, sizeof bytes, flags);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (got <= 0)
        command_fail(EX_UNAVAILABLE,
                     "the broker or rtf-watch has ended, and the recording with them");
    return take_datagram(source, bytes, (size_t)got);
}

/* ---- users: the connection ---- */

void trace_source_user(struct trace_source *source, int root, bool causes)
{
    const char *door = causes ? WATCH_WHY_SOCKET : WATCH_SOCKET;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *source = (struct trace_source){
        .socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0),
    };
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", root, door);
    if (source->socket < 0)
        command_fail(EX_OSERR, "%s", strerror(errno));
    if (connect(source->socket, (const struct sockaddr *)&address, sizeof address) != 0) {
        if (errno == EACCES)
            command_fail(EX_NOPERM, "%s/%s: %s", command_spool(), door, strerror(errno));
        command_fail(EX_UNAVAILABLE, "no broker serves %s", command_spool());
    }
    while (source->recording == NULL)
        (void)receive(source, 0);
}

/* Begins the recording of a user at this time. rtf-watch has recorded since it accepted the
 * connection. The records from before this time are left out, because this process has done other
 * work meanwhile. */
int64_t trace_source_start(struct trace_source *source)
{
    if (source->recorder != NULL)
        return recorder_start(source->recorder);
    source->begin = monotonic_now();
    return source->begin;
}

int64_t trace_source_stop(struct trace_source *source)
{
    if (source->recorder != NULL)
        return recorder_stop(source->recorder);
    source->end = monotonic_now();
    (void)shutdown(source->socket, SHUT_WR);
    while (!source->has_ended)
        (void)receive(source, 0);
    return source->end;
}

/* ---- root and users ---- */

int trace_source_descriptor(const struct trace_source *source)
{
    return source->recorder != NULL ? events_descriptor(recorder_events(source->recorder))
                                    : source->socket;
}

bool trace_source_drain(struct trace_source *source)
{
    return source->recorder != NULL ? recorder_drain(source->recorder)
                                    : receive(source, MSG_DONTWAIT);
}

bool trace_source_traces(const struct trace_source *source, pid_t thread)
{
    for (size_t i = 0; i < source->thread_count; i++)
        if (source->threads[i] == thread)
            return true;
    return source->recorder != NULL;
}

void trace_source_close(struct trace_source *source)
{
    if (source->recorder != NULL)
        recorder_close(source->recorder);
    else {
        recording_free(source->recording);
        close(source->socket);
    }
}
