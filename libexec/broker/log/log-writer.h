/* The pipe to rtf-logger, the helper process that writes log/events.ndjson. Only the helper waits
 * for a disk that is slow, full or frozen.
 *
 * The broker keeps both ends open: lines in the pipe outlive a writer that dies. */
#ifndef RTF_LOG_WRITER_H
#define RTF_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tells the launcher about the program, before the launcher is forked. */
void log_writer_prepare(const char *program);

/* `directory` is the open log/. False with errno. */
bool log_writer_start(int directory);

/* Sends as much as goes in without waiting, and returns the number of bytes. When the pipe has room
 * for more, the loop has a turn. */
size_t log_writer_send(const char *text, size_t length);

/* Sends the rest, and waits for the writer, for 2 s at most. False: there is no writer. */
bool log_writer_finish(const char *text, size_t length);

/* Appends to the log without a writer, and waits: for the last words of a broker that could not
 * start, while it is still the process that root started. */
void log_writer_append(const char *spool, const char *text, size_t length);

#endif
