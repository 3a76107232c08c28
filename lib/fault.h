/* A sentence that says what is wrong with something, and false: `return fault_in(why, sizeof why, "...", ...);`. Here and not in a file of its own,
 * for it is needed by programs that share nothing else. */
#ifndef RTF_FAULT_H
#define RTF_FAULT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

enum { REASON_BYTES = 512 }; /* of what a user or an administrator is told */

__attribute__((format(printf, 3, 4)))
static inline bool fault_in(char *why, size_t bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, bytes, format, arguments);
    va_end(arguments);
    return false;
}

#endif
