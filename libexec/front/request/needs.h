/* What a thread needs: the options of rtf-run(1), and any key of rtf-spec(5), laid over a spec. */
#ifndef RTF_NEEDS_H
#define RTF_NEEDS_H

#include <jansson.h>
#include <stdbool.h>

#include "command.h"

extern const struct command_option needs_options[];

/* Zeros are none. */
struct needs {
    json_t *pairs;    /* in the order of their statement: [KEY, VALUE]; [KEY]: the key goes */
    const char *disk; /* what --disk says */
};

/* False: the option is none of these. A wrong value ends the command. */
bool needs_take(struct needs *needs, const char *option, const char *value);

/* KEY=VALUE, as it was typed; an empty value takes the key out. */
void needs_add_pair(struct needs *needs, const char *pair);

/* One key alone, whose value has been checked. */
void needs_add(struct needs *needs, const char *key, const char *value);

bool needs_are_stated(const struct needs *needs);

/* After all options. A path of --disk is looked up with the rights of the user who typed it. */
void needs_lay_over(struct needs *needs, json_t *spec);

/* A spec that a person has written: a file's, NULL for an empty one, "-" for standard input. What is not one JSON object ends the command. The caller's. */
json_t *needs_read_spec(const char *file);

#endif
