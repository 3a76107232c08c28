/* From the text of NAME.json to a spec (rtf-spec(5)), and from that of NAME.tid to a thread. Every byte is a user's: it is read with his rights only. */
#ifndef RTF_SPEC_PARSE_H
#define RTF_SPEC_PARSE_H

#include "spec.h"

/* False: *reason says which key, where, and what is allowed. Whatever it says, spec_free is to be called. */
bool spec_parse(const char *text, size_t length, struct spec *spec, char reason[static REASON_BYTES]);

/* The content of NAME.tid: one decimal thread id and perhaps a newline. */
bool spec_parse_tid(const char *text, size_t length, pid_t *tid);

#endif
