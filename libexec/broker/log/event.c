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

#include "account.h"
#include "log-writer.h"
#include "units.h"

enum { SCHEMA = 1, RARE_LINES = 10, LOG_BYTES = 1 << 20 };
static const int64_t rare_window = INT64_C(10000000000);

static bool echo_to_stderr, reopens;
static const char *spool_of_log;
static uint64_t lost;

/* The lines of one turn of the loop, which go out in one write; and the lines that the pipe had no room for. */
static char waiting[131072];
static size_t waiting_length;

static const char *const kind_names[] = {
    [CREATE] = "create",   [CHANGE] = "change", [ATTACH] = "attach", [DETACH] = "detach",
    [RECOVER] = "recover", [UPDATE] = "update", [EXIT] = "exit",     [RELEASE] = "release",
};
static const char *const result_names[] = {
    [RESULT_OK] = "OK", [SCHEDULE_FAIL] = "SCHEDULE_FAIL", [ACL_FAIL] = "ACL_FAIL", [BAD_SPEC] = "BAD_SPEC", [ATTACH_FAIL] = "ATTACH_FAIL",
    [RESULT_WAITING] = "WAITING",
};

static const char *const ended_names[] = {
    [ENDED_REVOKE] = "revoke", [ENDED_LEASE] = "lease", [ENDED_THREAD] = "thread", [ENDED_USER] = "user", [ENDED_BROKER] = "broker",
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
    static char second[24]; /* the part of the time that is the same for a whole second */
    static time_t second_is = -1;
    static size_t length;
    struct timespec time;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &time);
    if (time.tv_sec != second_is) {
        gmtime_r(&time.tv_sec, &utc);
        length = strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &utc);
        second_is = time.tv_sec;
    }
    const char *fraction = format_seconds(time.tv_nsec, nanoseconds) + 1; /* ".042534817" */
    memcpy(text, second, length);
    memcpy(text + length, fraction, 7);
    memcpy(text + length + 7, "Z", 2);
    return text;
}

const char *json_as_line(const json_t *json, size_t *length)
{
    static char *text;
    static size_t room;
    if (json == NULL)
        return NULL;
    size_t needed = json_dumpb(json, text, room, JSON_COMPACT | JSON_ENSURE_ASCII);
    if (needed >= room) {
        char *more = realloc(text, needed * 2);
        if (more == NULL)
            return NULL;
        text = more;
        room = needed * 2;
        needed = json_dumpb(json, text, room, JSON_COMPACT | JSON_ENSURE_ASCII);
    }
    if (needed == 0)
        return NULL;
    text[needed] = '\n'; /* one write is one line */
    *length = needed + 1;
    return text;
}

static void finish(void)
{
    if (!log_writer_finish(waiting, waiting_length) && waiting_length > 0)
        log_writer_append(spool_of_log, waiting, waiting_length);
    waiting_length = 0;
}

void event_echo(bool on)
{
    echo_to_stderr = on;
}

void event_start(const char *spool)
{
    spool_of_log = spool;
    (void)atexit(finish);
}

/* The writer reopens the file at an empty line: the lines before it go to the old file. */
static void put_reopening(void)
{
    if (!reopens || waiting_length == sizeof waiting)
        return;
    waiting[waiting_length++] = '\n';
    reopens = false;
}

void event_reopen(void)
{
    reopens = true;
    put_reopening();
}

/* A text that is not UTF-8 becomes null: each line has each key. */
static json_t *text_or_null(const char *text)
{
    return text == NULL ? json_null() : json_string(text);
}

/* The reader of stderr may be a program that a grant keeps from running. A line that it does not take at once is dropped; the log has all lines. */
static void echo(const char *line, size_t length)
{
    static bool is_no_socket;
    struct pollfd one = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (!is_no_socket && (send(STDERR_FILENO, line, length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != ENOTSOCK))
        return;
    is_no_socket = true;
    if (length <= PIPE_BUF && poll(&one, 1, 0) > 0 && (one.revents & POLLOUT) != 0) /* a pipe that is ready has room for this many bytes */
        (void)!write(STDERR_FILENO, line, length);
}

static json_t *number_or_null(int64_t number, bool present)
{
    return present ? json_integer(number) : json_null();
}

/* Without memory for the value the key is null, not the value of the line before. */
static void set(json_t *line, const char *key, json_t *value)
{
    json_object_set_new_nocheck(line, key, value == NULL ? json_null() : value);
}

/* One object serves all lines, so that the keys keep their order. */
static json_t *filled(const struct event *event, uint64_t left_out)
{
    static json_t *line;
    char now[40];
    bool user = event->user != NULL;
    if (line == NULL)
        line = json_object();
    set(line, "schema", json_integer(SCHEMA));
    set(line, "time", json_string(format_now(now)));
    set(line, "stage", json_string(event->stage));
    set(line, "uid", number_or_null(user ? (int64_t)event->user->uid : 0, user));
    set(line, "user", text_or_null(user && event->user->name[0] != '\0' ? event->user->name : NULL));
    set(line, "name", text_or_null(event->name));
    set(line, "request", text_or_null(event->request));
    set(line, "decision", json_string(event->decision));
    set(line, "reason", text_or_null(event->reason));
    set(line, "plugin", text_or_null(event->plugin));
    set(line, "tid", number_or_null(event->tid, event->tid != 0));
    set(line, "us", number_or_null(event->microseconds, event->microseconds >= 0));
    set(line, "token", text_or_null(event->token));
    set(line, "grant", event->grant == NULL ? json_null() : json_incref(event->grant));
    set(line, "ended", text_or_null(ended_name(event->ended)));
    (void)json_object_del(line, "left_out");
    if (left_out > 0)
        set(line, "left_out", json_integer((json_int_t)left_out));
    return line;
}

static bool add(const struct event *event, uint64_t left_out)
{
    size_t length;
    const char *text = json_as_line(filled(event, left_out), &length);
    if (text == NULL || length > sizeof waiting - waiting_length)
        return false;
    memcpy(waiting + waiting_length, text, length);
    waiting_length += length;
    if (echo_to_stderr && event->user == NULL)
        echo(text, length);
    return true;
}

/* False: there is still no room. */
static bool report_lost(void)
{
    char reason[80];
    if (lost == 0)
        return true;
    snprintf(reason, sizeof reason, "the log could not be written for a time, %llu lines are missing", (unsigned long long)lost);
    if (!add(&(struct event){.stage = "broker", .decision = "error", .reason = reason, .microseconds = -1}, 0))
        return false;
    lost = 0;
    return true;
}

void event_flush(void)
{
    put_reopening();
    if (waiting_length == 0)
        return;
    size_t sent = log_writer_send(waiting, waiting_length);
    waiting_length -= sent;
    memmove(waiting, waiting + sent, waiting_length);
}

static void write_event(const struct event *event, uint64_t left_out)
{
    if (waiting_length > sizeof waiting / 2)
        event_flush();
    put_reopening();
    if (!report_lost() || !add(event, left_out))
        lost++;
}

/* ---- budgets ---- */

/* Returns the account whose log budget pays for the line; NULL: the line has no budget. */
static struct account *charged_account(const struct event *event)
{
    struct account *account = event->user == NULL || event->user->uid == 0 ? NULL : event->user->account;
    return account != NULL && account->log_of != NULL ? account->log_of : account;
}

/* Bounds the bytes that one user may cause in a time: no user fills the disk of the log, or hides the lines of others. Root and the broker have no bound. */
static bool has_budget(const struct event *event, uint64_t *left_out)
{
    char reason[160];
    struct account *account = charged_account(event);
    if (account == NULL)
        return true;
    const int64_t now = monotonic_now();
    if (now - account->log_window >= rare_window || account->log_window == 0) {
        *left_out += account->log_left_out;
        account->log_window = now;
        account->log_bytes = account->log_left_out = 0;
    }
    if (account->log_bytes < LOG_BYTES)
        return true;
    if (account->log_left_out++ > 0)
        return false;
    snprintf(reason, sizeof reason, "of this user there are more than %d KiB in %d s: the next lines are left out, and counted", LOG_BYTES >> 10,
             (int)(rare_window / INT64_C(1000000000)));
    write_event(&(struct event){.stage = "broker", .decision = "warning", .reason = reason, .user = event->user, .microseconds = -1}, 0);
    return false;
}

static void write_within_budget(const struct event *event, uint64_t left_out)
{
    const size_t before = waiting_length;
    if (!has_budget(event, &left_out))
        return;
    write_event(event, left_out);
    struct account *account = charged_account(event);
    if (account != NULL && waiting_length > before)
        account->log_bytes += waiting_length - before;
}

void event_write(const struct event *event)
{
    write_within_budget(event, 0);
}

void event_write_rarely(const struct event *event, int64_t *window, unsigned *count)
{
    int64_t now = monotonic_now();
    uint64_t left_out = 0;
    if (now - *window >= rare_window || *window == 0) {
        left_out = *count > RARE_LINES ? *count - RARE_LINES : 0;
        *window = now;
        *count = 0;
    }
    if (++*count > RARE_LINES)
        return;
    write_within_budget(event, left_out);
}

void event_broker(const char *decision, const char *format, ...)
{
    char reason[REASON_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    struct event event = {.stage = "broker", .decision = decision, .reason = reason, .microseconds = -1};
    event_write(&event);
}
