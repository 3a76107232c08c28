/* Reads the lines of the broker's log that were not read before, also when the log was rotated in
 * the meantime (rtf-events(5)), for root. Rotated files may be compressed. */
#ifndef RTF_ROTATED_LOG_H
#define RTF_ROTATED_LOG_H

#include <jansson.h>

#include "client.h"

/* The place up to which the log was read. The time in its first line identifies a file. Rotation
 * changes the name of the file, and compression also changes the inode. */
struct log_position {
    char first[32];     /* "": nothing was read before; then only the current file is read */
    json_int_t counted; /* bytes of this file, without compression */
};

/* Calls `take` for each new line that is a JSON object, the oldest first, and moves the position.
 * `root` is the open spool. If the log cannot be read, or lacks lines, writes a sentence to
 * `why`. */
void rotated_log_read(int root, struct log_position *position, void (*take)(const json_t *line),
                      char why[static CLIENT_WHY]);

#endif
