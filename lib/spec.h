/* What a user asks for: from the text of NAME.json to a spec (rtf-spec(5)), and from one program to another as lines of a
 * paragraph. Every byte is a user's, and the lines may be, too: who reads a spec checks all that the text was checked for. Times are
 * microseconds, 0 is "not stated". */
#ifndef RTF_SPEC_H
#define RTF_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "paragraph.h"

enum { NAME_BYTES = 65, TOKEN_BYTES = 65, PLUGIN_NAME_BYTES = 33, REASON_BYTES = 512, SPEC_BYTES_MAX = 64 * 1024 };

struct spec {
    uint64_t runtime, desired_runtime, period, deadline;
    int priority; /* 1..99 */
    pid_t attach;
    bool ignore_admission, lifetime_thread;
    bool move_process; /* its whole process may be moved into a domain */
    bool dry_run;      /* to be answered, and nothing else */
    char *plugin, *token; /* NULL, or the request's; in a grant both are NULL */
};

/* False: *reason says which key, where, and what is allowed. Whatever it says, spec_free is to be called. */
bool spec_parse(const char *text, size_t length, struct spec *spec, char reason[static REASON_BYTES]);

void spec_free(struct spec *spec);

/* As lines of a paragraph, without plugin and token where they are NULL; and back, with what the text was checked for checked again:
 * false when it is no spec that spec_parse can have returned. spec_free as above. */
void spec_add(struct paragraph_output *output, const struct spec *spec);
bool spec_get(const struct paragraph *paragraph, struct spec *spec);

/* The content of NAME.tid: one decimal thread id and perhaps a newline. */
bool spec_parse_tid(const char *text, size_t length, pid_t *tid);

/* [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63}, or at most `max` bytes of it. */
bool name_is_valid(const char *name, size_t length, size_t max);

/* The window over which a reservation's runtime is spread: min(T, D) of those stated; 0 if neither is. */
uint64_t spec_window(const struct spec *spec);

#endif
