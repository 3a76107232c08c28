#include "grant-text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "units.h"

char *time_text(const json_t *time, char text[static TIME_TEXT])
{
    if (json_is_integer(time))
        return format_time((uint64_t)json_integer_value(time), text);
    snprintf(text, TIME_TEXT, "-");
    return text;
}

/* Appends to a text of at most GRANT_TEXT bytes, and cuts what does not fit. */
__attribute__((format(printf, 2, 3))) static void add(char *text, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list values;
    va_start(values, format);
    vsnprintf(text + used, GRANT_TEXT - used, format, values);
    va_end(values);
}

static void add_times(char *text, const json_t *grant)
{
    const json_t *runtime = json_object_get(grant, "accepted_runtime"),
                 *period = json_object_get(grant, "period"),
                 *deadline = json_object_get(grant, "deadline");
    char time[TIME_TEXT];
    if (json_is_integer(runtime))
        add(text, "%s", time_text(runtime, time));
    if (json_is_integer(period))
        add(text, "%s%s", json_is_integer(runtime) ? " of each " : "a period of ",
            time_text(period, time));
    else if (!json_is_integer(runtime))
        add(text, "it");
    if (json_is_integer(deadline) && !json_equal(deadline, period))
        add(text, " within %s", time_text(deadline, time));
}

static const char *word(const json_t *object, const char *key)
{
    const char *text = client_string(object, key);
    return text == NULL ? "?" : text;
}

static void add_cpu(char *text, const json_t *grant)
{
    char share[UTILIZATION_TEXT];
    const char *cpus = word(grant, "cpus");
    const json_t *priority = json_object_get(grant, "priority");
    const json_int_t utilization = json_integer_value(json_object_get(grant, "utilization"));
    add(text, "%.64s grants ", word(grant, "plugin"));
    add_times(text, grant);
    if (json_is_integer(priority))
        add(text, " at %.16s priority %lld", word(grant, "policy"),
            (long long)json_integer_value(priority));
    add(text, " on CPU%s %.512s", cpus[strspn(cpus, "0123456789")] == '\0' ? "" : "s", cpus);
    if (utilization > 0)
        add(text, ", %s of a CPU", format_utilization((uint64_t)utilization, share));
}

static void add_claim(char *text, const json_t *claim)
{
    const json_t *count = json_object_get(claim, "count");
    const char *plugin = word(claim, "plugin");
    if (json_is_true(json_object_get(claim, "background")))
        add(text, ", %.64s in the background", plugin);
    else if (json_is_integer(count))
        add(text, ", %lld of %.64s", (long long)json_integer_value(count), plugin);
    else
        add(text, ", %lld bytes/%lldus of %.64s",
            (long long)json_integer_value(json_object_get(claim, "bytes")),
            (long long)json_integer_value(json_object_get(claim, "period")), plugin);
}

static void add_extras(char *text, const json_t *grant)
{
    const json_t *memory = json_object_get(grant, "lock_memory"),
                 *latency = json_object_get(grant, "cpu_latency"),
                 *nice = json_object_get(grant, "nice");
    char time[TIME_TEXT];
    if (json_is_integer(memory))
        add(text, ", %lld bytes to lock", (long long)json_integer_value(memory));
    if (json_is_integer(latency))
        add(text, ", CPUs wake within %s", time_text(latency, time));
    if (json_is_integer(nice))
        add(text, ", nice %lld", (long long)json_integer_value(nice));
    if (json_is_object(json_object_get(grant, "clamp")))
        add(text, ", utilization clamps");
    if (json_is_true(json_object_get(grant, "reclaim")))
        add(text, ", and CPU time that nobody has reserved");
    if (json_is_true(json_object_get(grant, "overrun_signal")))
        add(text, ", SIGXCPU at an overrun");
}

char *grant_text(const json_t *grant, char text[static GRANT_TEXT])
{
    char raw[GRANT_TEXT] = "";
    const json_t *claim;
    size_t i;
    if (client_string(grant, "plugin") == NULL)
        add(raw, "granted");
    else
        add_cpu(raw, grant);
    json_array_foreach(json_object_get(grant, "claims"), i, claim) add_claim(raw, claim);
    add_extras(raw, grant);
    return client_printable(raw, text, GRANT_TEXT);
}
