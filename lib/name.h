/* The rule for names of specs, plugins and tokens. */
#ifndef RTF_NAME_H
#define RTF_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_BYTES = 65, PLUGIN_NAME_BYTES = 33 };

/* [A-Za-z0-9_][A-Za-z0-9_.@:-]{0,63}, at most `max` bytes. */
bool name_is_valid(const char *name, size_t length, size_t max);

#endif
