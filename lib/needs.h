/* The options that say what a thread needs: -T, -P, --net and so on, and --set KEY=VALUE for any
 * key of rtf-spec(5). All commands of rtf(1) that make or change a spec have these options.
 * needs_lay_over sets the needs in a spec: each stated key replaces the same key of the spec. */
#ifndef RTF_NEEDS_H
#define RTF_NEEDS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "command-line.h"

extern const struct command_option needs_options[];

/* The needs that the command line states. A struct of zeros states no need. */
struct needs {
    /* in the order of the command line: [KEY, VALUE]; [KEY]: the key is removed from the spec */
    json_t *pairs;
    const char *disk; /* the value of --disk; NULL: not stated */
    /* set by the command. true: times become numbers, and no value may be "null"; false: times stay
     * as the user has written them */
    bool in_microseconds;
};

/* Takes an option of needs_options. False: the option is not in needs_options. A wrong value ends
 * the process (command_wrong). */
bool needs_take(struct needs *needs, const char *option, const char *value);

/* Takes a word KEY=VALUE of the command line. An empty value removes the key from the spec. */
void needs_add_pair(struct needs *needs, const char *pair);

/* Adds a key with a value that the caller has checked. */
void needs_add(struct needs *needs, const char *key, const char *value);

bool needs_are_stated(const struct needs *needs);

/* Sets the keys in the spec. Call this once, after all options. --disk may name a path, which is
 * looked up with the rights of this process. */
void needs_lay_over(struct needs *needs, json_t *spec);

/* Reads the spec in the file of -f. file NULL: returns an empty spec; file "-": reads standard
 * input. A file that is not one JSON object ends the process with EX_DATAERR. The caller owns the
 * object. */
json_t *needs_read_spec(const char *file);

#endif
