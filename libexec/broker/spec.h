/* From the text of a wish to a spec (rtf-spec(5)). Every byte is a user's. */
#ifndef RTF_SPEC_H
#define RTF_SPEC_H

#include <stddef.h>

#include "wish.h"

enum { SPEC_BYTES_MAX = 64 * 1024 };

/* False: *reason says which key, where, and what is allowed. Whatever it says, spec_free is to be called. */
bool spec_parse(const char *text, size_t length, struct spec *spec, char reason[static REASON_BYTES]);

void spec_free(struct spec *spec);

/* The content of NAME.tid: one decimal thread id and perhaps a newline. */
bool spec_parse_tid(const char *text, size_t length, pid_t *tid);

/* [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63}, or at most `max` bytes of it. */
bool name_is_valid(const char *name, size_t length, size_t max);

/* The window over which a reservation's runtime is spread: min(T, D) of those stated; 0 if neither is. */
uint64_t spec_window(const struct spec *spec);

#endif
