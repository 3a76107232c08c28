#include "extras.h"

bool extras_any(const struct extras *extras)
{
    return extras->lock_memory != 0 || extras->cpu_latency != 0 || extras->nice != 0 ||
           extras->clamp_min != 0 || extras->clamp_max != 0;
}

bool extras_equal(const struct extras *one, const struct extras *other)
{
    return one->lock_memory == other->lock_memory && one->cpu_latency == other->cpu_latency &&
           one->nice == other->nice && one->clamp_min == other->clamp_min &&
           one->clamp_max == other->clamp_max;
}

/* The nice value has the key minus_nice, because numbers of paragraphs have no sign. */
void extras_add(struct paragraph_output *output, const struct extras *extras)
{
    paragraph_add_stated(output, "lock_memory", extras->lock_memory);
    paragraph_add_stated(output, "cpu_latency", extras->cpu_latency);
    paragraph_add_stated(output, "minus_nice", (uint64_t)-extras->nice);
    paragraph_add_stated(output, "clamp_min", (uint64_t)extras->clamp_min);
    paragraph_add_stated(output, "clamp_max", (uint64_t)extras->clamp_max);
}

static bool get(const struct paragraph *paragraph, const char *key, uint64_t max, uint64_t *number)
{
    *number = 0;
    return paragraph_get_number(paragraph, key, max, number) >= 0;
}

bool extras_get(const struct paragraph *paragraph, struct extras *extras)
{
    uint64_t minus_nice, clamp_min, clamp_max;
    if (!get(paragraph, "lock_memory", LOCK_MEMORY_MAX, &extras->lock_memory) ||
        !get(paragraph, "cpu_latency", CPU_LATENCY_MAX, &extras->cpu_latency) ||
        !get(paragraph, "minus_nice", -NICE_LEAST, &minus_nice) ||
        !get(paragraph, "clamp_min", CLAMP_MAX + 1, &clamp_min) ||
        !get(paragraph, "clamp_max", CLAMP_MAX + 1, &clamp_max))
        return false;
    extras->nice = -(int)minus_nice;
    extras->clamp_min = (int)clamp_min;
    extras->clamp_max = (int)clamp_max;
    return clamp_min == 0 || clamp_max == 0 || clamp_min <= clamp_max;
}
