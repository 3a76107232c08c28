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
