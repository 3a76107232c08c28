#include "ls.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void ls_die(int status, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("rtf ls: ", stderr);
    vfprintf(stderr, format, values);
    fputc('\n', stderr);
    va_end(values);
    exit(status);
}

json_int_t ls_number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}
