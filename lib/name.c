#include "name.h"

#include <string.h>

bool name_is_valid(const char *name, size_t length, size_t max)
{
    static const char first[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    static const char rest[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.@:-";
    if (length == 0 || length > max || memchr(first, name[0], sizeof first - 1) == NULL)
        return false;
    for (size_t i = 1; i < length; i++)
        if (memchr(rest, name[i], sizeof rest - 1) == NULL)
            return false;
    return true;
}

size_t reservation_name_of_program(const char *name)
{
    const char *plus = strchr(name, '+');
    return plus == NULL ? 0 : (size_t)(plus - name);
}

static bool is_thread_id(const char *text)
{
    enum { DIGITS = 7 };
    const size_t length = strlen(text);
    return length >= 1 && length <= DIGITS && text[0] != '0' &&
           strspn(text, "0123456789") == length;
}

bool reservation_name_is_valid(const char *name)
{
    const size_t of_program = reservation_name_of_program(name);
    if (of_program == 0)
        return name_is_valid(name, strlen(name), NAME_BYTES - 1);
    return name_is_valid(name, of_program, NAME_BYTES - 1) && is_thread_id(name + of_program + 1);
}
