/* Formats a sentence about a fault and returns false: `return fault_in(why, sizeof why, "...",
 * ...);`. The function is in a header because the programs that call it share no object file. */
#ifndef RTF_REASON_H
#define RTF_REASON_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

enum { REASON_BYTES = 512 }; /* the size of a sentence for a user or an administrator */

__attribute__((format(printf, 3, 4))) static inline bool fault_in(char *why, size_t bytes,
                                                                  const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, bytes, format, arguments);
    va_end(arguments);
    return false;
}

#endif
