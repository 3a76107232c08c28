/* log/events.ndjson: one JSON object a line for each event (rtf-events(5)). A log that cannot be
 * written stops nothing: the broker counts the lost lines and logs their number when the log works
 * again. The lines go to the writer of the log (log-writer.h). One user causes a bounded number of
 * bytes. */
#ifndef RTF_EVENT_H
#define RTF_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "reservation.h"

/* Values of absent fields: NULL, tid 0, microseconds -1, times 0, ENDED_NOT. */
struct event {
    const char *stage, *request, *decision, *reason, *plugin;
    const char *result, *code; /* the result of a verdict, and the code of its refusal */
    const struct user *user;
    const char *name, *token;
    pid_t tid;
    int64_t microseconds;
    /* how often the thread has lost its real-time policy for the rest of a period */
    uint64_t times;
    enum ended ended;
    /* the grant in the form that verdicts have; the caller owns the object; NULL: none */
    json_t *grant;
};

/* Opens the log of this spool. At exit the remaining lines are written, even without a writer. */
void event_start(const char *spool);

/* true: lines that concern no user go to stderr as well. */
void event_echo(bool on);

/* Has the writer reopen the file after the lines that were added so far. */
void event_reopen(void);

/* Adds a line. event_flush sends the lines; call it before the broker waits. */
void event_write(const struct event *event);
void event_flush(void);

/* For events that a user can cause as often as they like: writes at most ten lines in ten seconds
 * for each user. The user's next line has the number of omitted lines. False: the line is omitted
 * or lost. */
bool event_write_rarely(const struct event *event, int64_t *window, unsigned *count);

/* Writes a line about the broker itself. */
void event_broker(const char *decision, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the present time as "2026-01-02T03:04:05.123456Z". Returns text. */
char *format_now(char text[static 40]);

/* The JSON text in one line, valid until the next call. NULL: no memory, or json is NULL. */
const char *json_as_line(const json_t *json, size_t *length);

const char *kind_name(enum kind kind);
const char *result_name(enum result result);

/* NULL for ENDED_NOT. */
const char *ended_name(enum ended ended);

#endif
