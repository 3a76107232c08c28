#include "spec-extras.h"

#include <string.h>

#include "extras.h"
#include "spec-values.h"
#include "wire.h"

bool take_lock_memory(const json_t *value, void *into, char *why)
{
    struct extras *extras = into;
    const json_int_t bytes = json_integer_value(value);
    if (json_is_integer(value) && bytes >= 1 && (uint64_t)bytes <= LOCK_MEMORY_MAX) {
        extras->lock_memory = (uint64_t)bytes;
        return true;
    }
    const char *text = json_string_value(value);
    return (text != NULL && parse_memory(text, &extras->lock_memory)) ||
           fault(
               why,
               "must be a whole number of bytes, or a string such as \"256MiB\" with B, kB, MB, GB, KiB, MiB or GiB, from 1B to %lluGiB",
               (unsigned long long)(LOCK_MEMORY_MAX >> 30));
}

bool take_cpu_latency(const json_t *value, void *into, char *why)
{
    struct extras *extras = into;
    if (!take_time(value, &extras->cpu_latency, why))
        return false;
    return extras->cpu_latency <= CPU_LATENCY_MAX ||
           fault(why, "must be a time from 1us to 1s: how long a CPU may take to wake from idle");
}

bool take_nice(const json_t *value, void *into, char *why)
{
    const json_int_t nice = json_integer_value(value);
    if (!json_is_integer(value) || nice < NICE_LEAST || nice > -1)
        return fault(
            why,
            "must be a whole number from %d to -1; a nice value of 0 or more needs no reservation",
            NICE_LEAST);
    ((struct extras *)into)->nice = (int)nice;
    return true;
}

static bool take_bound(const json_t *object, const char *key, int *into)
{
    const json_t *value = json_object_get(object, key);
    const json_int_t number = json_integer_value(value);
    if (value == NULL)
        return true;
    *into = (int)number + 1;
    return json_is_integer(value) && number >= 0 && number <= CLAMP_MAX;
}

bool take_clamp(const json_t *value, void *into, char *why)
{
    struct extras *extras = into;
    const size_t known = (json_object_get(value, "min") != NULL ? 1U : 0U) +
                         (json_object_get(value, "max") != NULL ? 1U : 0U);
    if (known == 0 || json_object_size(value) != known ||
        !take_bound(value, "min", &extras->clamp_min) ||
        !take_bound(value, "max", &extras->clamp_max) ||
        (known == 2 && extras->clamp_min > extras->clamp_max))
        return fault(
            why,
            "must be an object such as {\"min\": 256, \"max\": 819}: one or both keys, each a whole number from 0 to %d, and min not above max",
            CLAMP_MAX);
    return true;
}
