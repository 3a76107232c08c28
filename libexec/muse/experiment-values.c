#include "experiment-values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECOND INT64_C(1000)
#define SECOND      INT64_C(1000000000)
#define DAY         (86400 * SECOND)

bool reading_integer(struct reading *reading, const json_t *value, int64_t least, int64_t most,
                     int64_t *into)
{
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most)
        return reading_fault(reading, "must be a whole number from %lld to %lld", (long long)least,
                             (long long)most);
    *into = json_integer_value(value);
    return true;
}

/* Parses digits and a unit, such as "5ms". */
static bool parse_span(const char *text, int64_t *nanoseconds)
{
    uint64_t number;
    char *unit;
    errno = 0;
    if (text[0] < '0' || text[0] > '9')
        return false;
    number = strtoull(text, &unit, 10);
    static const struct {
        const char *name;
        int64_t nanoseconds;
    } units[] = {{"ns", 1},     {"us", MICROSECOND},  {"ms", 1000000},
                 {"s", SECOND}, {"min", 60 * SECOND}, {"h", 3600 * SECOND},
                 {"d", DAY}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (errno == 0 && strcmp(unit, units[i].name) == 0 && number >= 1 &&
            number <= (uint64_t)(DAY / units[i].nanoseconds)) {
            *nanoseconds = (int64_t)number * units[i].nanoseconds;
            return true;
        }
    return false;
}

/* Refuses a wrong time, such as a number without a unit. In paper 004 (section 5) a number without
 * a unit is nanoseconds, in the paper's own tool it is microseconds, and for some keys of both it
 * is seconds. Only with --compat the unit is known. */
static bool fault_of_time(struct reading *reading, const char *bare)
{
    if (reading->experiment->compat)
        return reading_fault(
            reading,
            "must be a time: a whole number of %s (--compat), or a string such as \"5ms\", up to a day",
            bare);
    return reading_fault(
        reading,
        "must be a string with a time and its unit, such as \"5ms\": ns, us, ms, s, min, h or d, up to a day");
}

bool reading_time(struct reading *reading, const json_t *value, int64_t *into)
{
    if (reading->experiment->compat && json_is_integer(value) && json_integer_value(value) >= 1 &&
        json_integer_value(value) <= DAY / MICROSECOND) {
        *into = json_integer_value(value) * MICROSECOND;
        return true;
    }
    return (json_is_string(value) && parse_span(json_string_value(value), into)) ||
           fault_of_time(reading, "microseconds");
}

bool reading_seconds(struct reading *reading, const json_t *value, int64_t *into)
{
    const double seconds = json_number_value(value);
    if (reading->experiment->compat && json_is_number(value) && seconds >= 1e-3 &&
        seconds <= 86400) {
        *into = (int64_t)(seconds * (double)SECOND + 0.5);
        return true;
    }
    return (json_is_string(value) && parse_span(json_string_value(value), into)) ||
           fault_of_time(reading, "seconds");
}

static const char *const policy_names[] = {"SCHED_OTHER", "SCHED_BATCH", "SCHED_IDLE",
                                           "SCHED_FIFO",  "SCHED_RR",    "SCHED_DEADLINE"};

const char *experiment_policy_name(enum policy policy)
{
    return policy_names[policy];
}

bool reading_policy(struct reading *reading, const json_t *value, enum policy *into)
{
    const char *text = json_string_value(value);
    for (size_t i = 0; text != NULL && i < sizeof policy_names / sizeof *policy_names; i++)
        if (strcmp(policy_names[i], text) == 0) {
            *into = (enum policy)i;
            return true;
        }
    return reading_fault(
        reading,
        "must be one of SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR, SCHED_DEADLINE");
}

bool reading_cpu_array(struct reading *reading, const json_t *array, cpu_set_t *cpus)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)array, i, item)
    {
        int64_t cpu = 0;
        if (!reading_integer(reading, item, 0, CPU_SETSIZE - 1, &cpu))
            return reading_fault(reading, "must be CPUs, as [0, 1] or \"0-3\"");
        CPU_SET((size_t)cpu, cpus);
    }
    return CPU_COUNT(cpus) > 0 || reading_fault(reading, "must name a CPU");
}
