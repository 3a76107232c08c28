#include "apply-result.h"

#include <stdarg.h>
#include <stdio.h>

enum apply_result apply_refuse(char *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, APPLY_REASON, format, arguments);
    va_end(arguments);
    return APPLY_REFUSED;
}
