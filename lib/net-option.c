#include "net-option.h"

#include <string.h>

json_t *net_option(const char *text)
{
    json_t *claim = json_object();
    const char *colon = strchr(text, ':'), *size = colon == NULL ? text : colon + 1,
               *slash = strchr(size, '/');
    if (colon != NULL)
        json_object_set_new(claim, "interface", json_stringn(text, (size_t)(colon - text)));
    if (strcmp(size, "background") == 0)
        json_object_set_new(claim, size, json_true());
    else
        json_object_set_new(claim, slash == NULL ? "bandwidth" : "bytes",
                            slash == NULL ? json_string(size)
                                          : json_stringn(size, (size_t)(slash - size)));
    if (slash != NULL)
        json_object_set_new(claim, "period", json_string(slash + 1));
    return claim;
}
