/* log/events.ndjson: one JSON object a line, everything that happened (rtf-events(5)). A log that cannot be
 * written never stops anything: lines are counted as lost and the count is logged when it works again. They go to the writer of
 * the log (log-writer.h), and of a user's only so much in a time. */
#ifndef RTF_EVENT_H
#define RTF_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "reservation.h"

/* Absent fields: NULL, and uid -1, tid 0, microseconds -1. */
struct event {
    const char *stage, *request, *decision, *reason, *plugin;
    const struct user *user;
    const char *name, *token;
    pid_t tid;
    int64_t microseconds;
    enum ended ended;
    json_t *grant; /* as verdict.h has it, the caller's; NULL */
};

/* At exit what is left is written, to the log of this spool, even if it has no writer yet. */
void event_start(const char *spool);

/* From now on what concerns no user goes to stderr as well, or does not any more. */
void event_echo(bool on);

/* After what has been said so far. */
void event_reopen(void);

/* In the log with event_flush, which is to be called before the broker waits. */
void event_write(const struct event *event);
void event_flush(void);

/* For what a user can cause as often as he likes: at most ten lines in ten seconds for each user, and then
 * how many were left out. */
void event_write_rarely(const struct event *event, int64_t *window, unsigned *count);

/* What concerns the broker itself. */
void event_broker(const char *decision, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "2026-01-02T03:04:05.123456Z" of now. Returns text. */
char *format_now(char text[static 40]);

/* As one line, valid until the next call. NULL: no memory, or json is. */
const char *json_as_line(const json_t *json, size_t *length);

const char *kind_name(enum kind kind);
const char *result_name(enum result result);

/* NULL: ENDED_NOT. */
const char *ended_name(enum ended ended);

#endif
