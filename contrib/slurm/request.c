#include "request.h"

#include <stdio.h>
#include <string.h>

#include "units.h"

enum { REQUEST_TEXT = 256 };

static bool refuse(char why[static REQUEST_WHY], const char *what, const char *text)
{
    snprintf(why, REQUEST_WHY, "%s: '%.80s'", what, text);
    return false;
}

static bool take_time(const char *text, uint64_t *time, char why[static REQUEST_WHY])
{
    return parse_time(text, time) ||
           refuse(why, "a time is digits and a unit, such as 500us or 2ms", text);
}

/* RUNTIME/PERIOD[/DEADLINE] */
static bool take_times(char *text, struct request *request, char why[static REQUEST_WHY])
{
    char *rest = text;
    const char *const runtime = strsep(&rest, "/"), *const period = strsep(&rest, "/");
    if (period == NULL)
        return refuse(why, "the option begins with RUNTIME/PERIOD, such as 2ms/20ms", text);
    return take_time(runtime, &request->runtime, why) && take_time(period, &request->period, why) &&
           (rest == NULL || take_time(rest, &request->deadline, why));
}

static bool take_plugin(const char *value, struct request *request, char why[static REQUEST_WHY])
{
    if (!name_is_valid(value, strlen(value), PLUGIN_NAME_BYTES - 1))
        return refuse(why, "no plugin has such a name", value);
    snprintf(request->plugin, sizeof request->plugin, "%s", value);
    return true;
}

static bool take_priority(const char *value, struct request *request, char why[static REQUEST_WHY])
{
    uint64_t priority;
    if (!parse_number(value, PRIORITY_MAX, &priority) || priority == 0)
        return refuse(why, "a priority is 1 to 99", value);
    request->priority = (unsigned)priority;
    return true;
}

/* KEY=VALUE */
static bool take_key(char *pair, struct request *request, char why[static REQUEST_WHY])
{
    char *value = pair;
    const char *const key = strsep(&value, "=");
    if (value != NULL && strcmp(key, "plugin") == 0)
        return take_plugin(value, request, why);
    if (value != NULL && strcmp(key, "priority") == 0)
        return take_priority(value, request, why);
    if (value != NULL && strcmp(key, "desired") == 0)
        return take_time(value, &request->desired, why);
    return refuse(why, "only plugin=NAME, priority=N and desired=TIME may follow the times", key);
}

bool request_parse(const char *text, struct request *request, char why[static REQUEST_WHY])
{
    char copy[REQUEST_TEXT], *rest = copy;
    *request = (struct request){0};
    if (text == NULL || snprintf(copy, sizeof copy, "%s", text) >= (int)sizeof copy)
        return refuse(why, "the value is too long", text == NULL ? "" : text);
    if (!take_times(strsep(&rest, ","), request, why))
        return false;
    for (char *pair = strsep(&rest, ","); pair != NULL; pair = strsep(&rest, ","))
        if (!take_key(pair, request, why))
            return false;
    return true;
}
