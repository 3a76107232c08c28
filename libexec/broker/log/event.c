#include "event.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "log-budget.h"
#include "log-writer.h"
#include "units.h"

enum { SCHEMA = 1, RARE_LINES = 10 };

static struct {
    const char *spool;
    /* echoes: lines are also written to stderr; is_no_socket: stderr is not a socket */
    bool echoes, is_no_socket;
    bool reopens;
    uint64_t lost;
    /* The lines of one turn of the loop, which are sent with one write(2). Before them are earlier
     * lines for which the pipe had no room. */
    char waiting[131072];
    size_t length;
    json_t *line; /* one object serves all lines, so that the keys keep their order */
    char *text;
    size_t room;
    struct {
        /* the text of the time without the fraction, which is kept for a whole second */
        char text[24];
        time_t is;
        size_t length;
    } second;
} log_lines;

static const char *const kind_names[] = {
    [CREATE] = "create",   [CHANGE] = "change", [ATTACH] = "attach", [DETACH] = "detach",
    [RECOVER] = "recover", [UPDATE] = "update", [EXIT] = "exit",     [RELEASE] = "release",
};
static const char *const result_names[] = {
    [RESULT_OK] = "OK",      [SCHEDULE_FAIL] = "SCHEDULE_FAIL", [ACL_FAIL] = "ACL_FAIL",
    [BAD_SPEC] = "BAD_SPEC", [ATTACH_FAIL] = "ATTACH_FAIL",     [RESULT_WAITING] = "WAITING",
};

static const char *const ended_names[] = {
    [ENDED_REVOKE] = "revoke", [ENDED_LEASE] = "lease",   [ENDED_THREAD] = "thread",
    [ENDED_USER] = "user",     [ENDED_BROKER] = "broker",
};

const char *kind_name(enum kind kind)
{
    return kind_names[kind];
}

const char *result_name(enum result result)
{
    return result_names[result];
}

const char *ended_name(enum ended ended)
{
    return ended_names[ended];
}

char *format_now(char text[static 40])
{
    char nanoseconds[SECONDS_TEXT];
    struct timespec time;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &time);
    if (time.tv_sec != log_lines.second.is) {
        gmtime_r(&time.tv_sec, &utc);
        log_lines.second.length = strftime(log_lines.second.text, sizeof log_lines.second.text,
                                           "%Y-%m-%dT%H:%M:%S", &utc);
        log_lines.second.is = time.tv_sec;
    }
    const size_t length = log_lines.second.length;
    /* the fraction of the second, such as ".042534817" */
    const char *fraction = format_seconds(time.tv_nsec, nanoseconds) + 1;
    memcpy(text, log_lines.second.text, length);
    memcpy(text + length, fraction, 7);
    memcpy(text + length + 7, "Z", 2);
    return text;
}

const char *json_as_line(const json_t *json, size_t *length)
{
    if (json == NULL)
        return NULL;
    size_t needed =
        json_dumpb(json, log_lines.text, log_lines.room, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (needed >= log_lines.room) {
        char *more = realloc(log_lines.text, needed * 2);
        if (more == NULL)
            return NULL;
        log_lines.text = more;
        log_lines.room = needed * 2;
        needed = json_dumpb(json, log_lines.text, log_lines.room, JSON_COMPACT | JSON_ENSURE_ASCII);
    }
    if (needed == 0)
        return NULL;
    log_lines.text[needed] = '\n'; /* one write is one line */
    *length = needed + 1;
    return log_lines.text;
}

static void event_finish(void)
{
    if (!log_writer_finish(log_lines.waiting, log_lines.length) && log_lines.length > 0)
        log_writer_append(log_lines.spool, log_lines.waiting, log_lines.length);
    log_lines.length = 0;
}

void event_echo(bool on)
{
    log_lines.echoes = on;
}

void event_start(const char *spool)
{
    log_lines.spool = spool;
    (void)atexit(event_finish);
}

/* The writer reopens the file at an empty line: the lines before it go to the old file. */
static void put_reopening(void)
{
    if (!log_lines.reopens || log_lines.length == sizeof log_lines.waiting)
        return;
    log_lines.waiting[log_lines.length++] = '\n';
    log_lines.reopens = false;
}

void event_reopen(void)
{
    log_lines.reopens = true;
    put_reopening();
}

/* Returns null for a text that is not UTF-8, so that each line still has each key. */
static json_t *event_text_or_null(const char *text)
{
    return text == NULL ? json_null() : json_string(text);
}

/* Writes the line to stderr. A granted thread may keep the program that reads stderr from running.
 * So a line that cannot be written at once is dropped. The log has this line, too. */
static void echo(const char *line, size_t length)
{
    struct pollfd one = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (!log_lines.is_no_socket &&
        (send(STDERR_FILENO, line, length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != ENOTSOCK))
        return;
    log_lines.is_no_socket = true;
    /* a pipe that is ready has room for this many bytes */
    if (length <= PIPE_BUF && poll(&one, 1, 0) > 0 && (one.revents & POLLOUT) != 0)
        (void)!write(STDERR_FILENO, line, length);
}

static json_t *event_number_or_null(int64_t number, bool present)
{
    return present ? json_integer(number) : json_null();
}

/* Sets the key. If there is no memory for the value, sets the key to null, because otherwise the
 * key would keep the value of the line before. */
static void event_set(json_t *line, const char *key, json_t *value)
{
    json_object_set_new_nocheck(line, key, value == NULL ? json_null() : value);
}

/* Sets a key that few lines have. First removes the key, so that it comes after the keys that all
 * lines have. */
static void event_set_last(json_t *line, const char *key, uint64_t number)
{
    (void)json_object_del(line, key);
    if (number > 0)
        event_set(line, key, json_integer((json_int_t)number));
}

static json_t *event_filled(const struct event *event, uint64_t left_out)
{
    char now[40];
    bool user = event->user != NULL;
    if (log_lines.line == NULL)
        log_lines.line = json_object();
    json_t *const line = log_lines.line;
    event_set(line, "schema", json_integer(SCHEMA));
    event_set(line, "time", json_string(format_now(now)));
    event_set(line, "stage", json_string(event->stage));
    event_set(line, "uid", event_number_or_null(user ? (int64_t)event->user->uid : 0, user));
    event_set(line, "user",
              event_text_or_null(user && event->user->name[0] != '\0' ? event->user->name : NULL));
    event_set(line, "name", event_text_or_null(event->name));
    event_set(line, "request", event_text_or_null(event->request));
    event_set(line, "decision", json_string(event->decision));
    event_set(line, "result", event_text_or_null(event->result));
    event_set(line, "code", event_text_or_null(event->code));
    event_set(line, "reason", event_text_or_null(event->reason));
    event_set(line, "plugin", event_text_or_null(event->plugin));
    event_set(line, "tid", event_number_or_null(event->tid, event->tid != 0));
    event_set(line, "us", event_number_or_null(event->microseconds, event->microseconds >= 0));
    event_set(line, "token", event_text_or_null(event->token));
    event_set(line, "grant", event->grant == NULL ? json_null() : json_incref(event->grant));
    event_set(line, "ended", event_text_or_null(ended_name(event->ended)));
    event_set_last(line, "times", event->times);
    event_set_last(line, "left_out", left_out);
    return line;
}

static bool event_add(const struct event *event, uint64_t left_out)
{
    size_t length;
    const char *text = json_as_line(event_filled(event, left_out), &length);
    if (text == NULL || length > sizeof log_lines.waiting - log_lines.length)
        return false;
    memcpy(log_lines.waiting + log_lines.length, text, length);
    log_lines.length += length;
    if (log_lines.echoes && event->user == NULL)
        echo(text, length);
    return true;
}

/* False: there is still no room. */
static bool report_lost(void)
{
    char reason[80];
    if (log_lines.lost == 0)
        return true;
    snprintf(reason, sizeof reason,
             "the log could not be written for a time: %llu lines are missing",
             (unsigned long long)log_lines.lost);
    if (!event_add(&(struct event){.stage = "broker",
                                   .decision = "error",
                                   .reason = reason,
                                   .microseconds = -1},
                   0))
        return false;
    log_lines.lost = 0;
    return true;
}

void event_flush(void)
{
    put_reopening();
    if (log_lines.length == 0)
        return;
    size_t sent = log_writer_send(log_lines.waiting, log_lines.length);
    log_lines.length -= sent;
    memmove(log_lines.waiting, log_lines.waiting + sent, log_lines.length);
}

/* False: the line is lost. */
static bool write_event(const struct event *event, uint64_t left_out)
{
    if (log_lines.length > sizeof log_lines.waiting / 2)
        event_flush();
    put_reopening();
    const bool is_written = report_lost() && event_add(event, left_out);
    log_lines.lost += !is_written;
    return is_written;
}

static void tell_spent(const struct event *event)
{
    char reason[160];
    snprintf(
        reason, sizeof reason,
        "this user has caused more than %d KiB of lines in %d s: further lines are left out and counted",
        LOG_BYTES >> 10, (int)(LOG_WINDOW / INT64_C(1000000000)));
    (void)write_event(&(struct event){.stage = "broker",
                                      .decision = "warning",
                                      .reason = reason,
                                      .user = event->user,
                                      .microseconds = -1},
                      0);
}

static bool write_within_budget(const struct event *event, uint64_t left_out)
{
    const size_t before = log_lines.length;
    const enum log_room room = log_budget_look(event->user, &left_out);
    if (room == LOG_SPENT)
        tell_spent(event);
    if (room != LOG_HAS_ROOM)
        return false;
    const bool is_written = write_event(event, left_out);
    if (log_lines.length > before)
        log_budget_charge(event->user, log_lines.length - before);
    return is_written;
}

void event_write(const struct event *event)
{
    (void)write_within_budget(event, 0);
}

bool event_write_rarely(const struct event *event, int64_t *window, unsigned *count)
{
    int64_t now = monotonic_now();
    uint64_t left_out = 0;
    if (now - *window >= LOG_WINDOW || *window == 0) {
        left_out = *count > RARE_LINES ? *count - RARE_LINES : 0;
        *window = now;
        *count = 0;
    }
    if (++*count > RARE_LINES)
        return false;
    return write_within_budget(event, left_out);
}

void event_broker(const char *decision, const char *format, ...)
{
    char reason[REASON_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    struct event event = {.stage = "broker",
                          .decision = decision,
                          .reason = reason,
                          .microseconds = -1};
    event_write(&event);
}
