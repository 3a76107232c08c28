#include "enforced.h"

#include <stdarg.h>
#include <stdio.h>

enum enforced enforce_refuse(char *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, ENFORCE_REASON, format, arguments);
    va_end(arguments);
    return ENFORCE_REFUSED;
}
