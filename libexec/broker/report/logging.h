/* The pipe to rtf-log, the part that writes log/events.ndjson: a disk that is slow, full or frozen is its trouble alone.
 *
 * The broker keeps both ends, so what is in the pipe outlives a writer that dies. */
#ifndef RTF_LOGGING_H
#define RTF_LOGGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before the starter is forked: tells it about the program. */
void logging_prepare(const char *program);

/* `directory` is the open log/. False with errno. */
bool logging_start(int directory);

/* As much of it as goes in without waiting. When that is not all, the source SOURCE_LOG_ROOM becomes ready when there is room. */
size_t logging_send(const char *text, size_t length);

/* SOURCE_LOG: the writer has ended, and is started again; not more often than each second. */
void logging_ended(void);
int64_t logging_deadline(void);
/* True: it has been started again, and some lines may be missing. */
bool logging_expire(int64_t now);

/* Sends the rest, and waits until everything is written, but not for ever. */
void logging_finish(const char *text, size_t length);

#endif
