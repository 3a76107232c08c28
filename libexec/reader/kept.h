/* Writes the user's events for rtf-log(1) into the file .events in the user's directory, one JSON
 * object per line, if the user has made this file. A verdict's line is written after the verdict is
 * delivered. Nothing waits for the file, and lines that cannot be written are dropped. */
#ifndef RTF_READER_KEPT_H
#define RTF_READER_KEPT_H

#include <stddef.h>

/* Writes {"name": NAME, "verdict": TEXT}. text: without its newline. */
void kept_verdict(const char *name, const char *text, size_t length);

/* Writes {"name": NAME, "released": SECONDS, "ended": WHY}: the reservation has ended. why: the
 * reason, as the broker says it; NULL: "user". */
void kept_release(const char *name, const char *why);

#endif
