/* The pipe to rtf-logger, the helper process that writes log/events.ndjson. Only the helper waits
 * for a disk that is slow, full or frozen.
 *
 * The broker keeps both ends of the pipe open: lines in the pipe outlive a writer that dies. */
#ifndef RTF_LOG_WRITER_H
#define RTF_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tells the launcher about the program, before the launcher is forked. */
void log_writer_prepare(const char *program);

/* `directory` is the open log/. False: errno says why. */
bool log_writer_start(int directory);

/* Sends as much as goes into the pipe without waiting, and returns the number of bytes. When the
 * pipe has room again, the loop takes a turn, at whose end the rest is sent. */
size_t log_writer_send(const char *text, size_t length);

/* Sends the rest, and waits until the writer has ended, for 2 s at most. False: there is no
 * writer. */
bool log_writer_finish(const char *text, size_t length);

/* Appends to the log without a writer, and may wait for the disk. This is only for the last lines
 * of a broker that cannot start, while it still has root's privileges. */
void log_writer_append(const char *spool, const char *text, size_t length);

#endif
