#include "ls.h"

json_int_t ls_number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}
