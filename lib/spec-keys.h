/* The functions that the parsers of spec files share: spec-parse.c for one reservation,
 * program-file.c for the threads of a program. */
#ifndef RTF_SPEC_KEYS_H
#define RTF_SPEC_KEYS_H

#include <jansson.h>

#include "nearest-word.h"
#include "spec.h"

/* Parses the text as a JSON object, which the caller owns. NULL: *reason says what is wrong. */
json_t *spec_object(const char *text, size_t length, char reason[static REASON_BYTES]);

/* Parses one key of a spec into *spec. Does not take the keys "modes" and "mode", because they
 * refer to all other keys. */
bool spec_take_key(const char *key, const json_t *value, struct spec *spec, char *why);

/* spec_take_key calls these functions. Each function parses the value of the key that is in the
 * function's name. `into`: char ** for token and plugin. */
bool spec_take_token(const json_t *value, void *into, char *why);
bool spec_take_plugin(const json_t *value, void *into, char *why);
bool spec_take_comment(const json_t *value, void *into, char *why);
bool spec_take_on_refusal(const json_t *value, void *into, char *why);

/* Writes `key "period" (line 3)`. number: the position of the key in the object, counted from 0. */
void spec_name_key(const char *text, size_t length, const char *key, int number,
                   char shown[static 112]);

/* Writes the sentence about an unknown key, and returns false. guess: the result of
 * nearest_word_try, after it was called with all known keys. */
bool spec_unknown_key(const struct nearest_word *guess, char *why);

#endif
