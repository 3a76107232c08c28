/* The pipe to rtf-logger, the helper process that writes log/events.ndjson: a disk that is slow, full or frozen is its trouble alone.
 *
 * The broker keeps both ends, so what is in the pipe outlives a writer that dies. */
#ifndef RTF_LOG_WRITER_H
#define RTF_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before the launcher is forked: tells it about the program. */
void log_writer_prepare(const char *program);

/* `directory` is the open log/. False with errno. */
bool log_writer_start(int directory);

/* As much of it as goes in without waiting. When that is not all, the loop has a turn when there is room. */
size_t log_writer_send(const char *text, size_t length);

/* Sends the rest, and waits until everything is written, but not for ever. False: there is no writer. */
bool log_writer_finish(const char *text, size_t length);

/* Without a writer, and to be waited for: the last words of a broker that could not start, while it still is what root has started. */
void log_writer_append(const char *spool, const char *text, size_t length);

#endif
