/* Checks names of specs, plugins and tokens, and names of the reservations of a program file. */
#ifndef RTF_NAME_H
#define RTF_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_BYTES = 65, PLUGIN_NAME_BYTES = 33 };

/* True if the name matches [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63}, and has at most `max` bytes. */
bool name_is_valid(const char *name, size_t length, size_t max);

/* A program file NAME.json (rtf-spec(5)) has a reservation NAME+TID for each thread. No spec of a
 * user has such a name, because the name of a spec has no +. */
enum { RESERVATION_NAME_BYTES = NAME_BYTES + 8 };

/* True for a name of a spec, and for NAME+TID with a decimal TID without leading zeros. */
bool reservation_name_is_valid(const char *name);

/* Returns the length of NAME in NAME+TID; 0: the name does not have this form. */
size_t reservation_name_of_program(const char *name);

#endif
