/* Keeps the user's events: the file .events in the user's directory, one JSON object per line, if
 * the user has made that file; for rtf-log(1). A verdict's line is written after the verdict is
 * delivered. Nothing waits for the file, and lines that cannot be written are dropped. */
#ifndef RTF_READER_KEPT_H
#define RTF_READER_KEPT_H

#include <stddef.h>

/* Writes {"name": NAME, "verdict": TEXT}. text: without its newline. */
void kept_verdict(const char *name, const char *text, size_t length);

/* Writes {"name": NAME, "released": SECONDS, "ended": WHY}: the reservation has ended. why: the
 * broker's word; NULL: "user". */
void kept_release(const char *name, const char *why);

#endif
