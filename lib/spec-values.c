#include "spec-values.h"

#include <stdlib.h>

#include "units.h"
#include "wire.h"

/* Writes the sentence about a wrong time. For a value such as "1.5ms", 1000.0 or 1e3, the sentence
 * suggests the time that the user probably meant. */
static bool no_time(const json_t *value, char *reason)
{
    static const char allowed[] =
        "must be a whole number of microseconds, or a string such as \"8ms\" with us, ms, s, min, h or d, from 1us to 3600s";
    uint64_t meant;
    char *number = json_is_real(value) ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    const char *string = json_string_value(value), *quote = string == NULL ? "" : "\"";
    const bool is_known = number != NULL ? guess_time(number, 1, &meant)
                                         : string != NULL && guess_time(string, 0, &meant);
    free(number);
    if (!is_known)
        return fault(reason, "%s", allowed);
    return fault(reason, "%s; write %s%llu%s%s", allowed, quote, (unsigned long long)meant,
                 string == NULL ? "" : "us", quote);
}

bool take_time(const json_t *value, void *into, char *reason)
{
    uint64_t *time = into;
    if (json_is_integer(value) && json_integer_value(value) >= 1 &&
        (uint64_t)json_integer_value(value) <= TIME_MAX) {
        *time = (uint64_t)json_integer_value(value);
        return true;
    }
    if (json_is_string(value) && parse_time(json_string_value(value), time))
        return true;
    return no_time(value, reason);
}

bool take_integer(const json_t *value, json_int_t max, json_int_t *into, char *reason)
{
    if (!json_is_integer(value) || json_integer_value(value) < 1 || json_integer_value(value) > max)
        return fault(reason, "must be a whole number from 1 to %lld", (long long)max);
    *into = json_integer_value(value);
    return true;
}

bool take_bytes(const json_t *value, uint64_t *bytes, char *reason)
{
    if (json_is_integer(value) && json_integer_value(value) >= 1 &&
        (uint64_t)json_integer_value(value) <= WIRE_BYTES_MAX) {
        *bytes = (uint64_t)json_integer_value(value);
        return true;
    }
    return (json_is_string(value) && parse_bytes(json_string_value(value), bytes)) ||
           fault(
               reason,
               "must be a whole number of bytes, or a string such as \"32KiB\" with B, kB, MB, KiB or MiB, from 1 to %lluB",
               (unsigned long long)WIRE_BYTES_MAX);
}
