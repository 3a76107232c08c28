#include "experiment-threads.h"

#include <stdlib.h>
#include <string.h>

#include "experiment-phases.h"
#include "experiment-values.h"
#include "units.h"

enum { NAME_MOST = 64 };
#define MICROSECOND INT64_C(1000)

static bool take_module(struct reading *reading, const json_t *value, unsigned module,
                        unsigned *modules)
{
    if (!json_is_boolean(value))
        return reading_fault(reading, "must be true or false");
    *modules |= json_is_true(value) ? module : 0;
    return true;
}

bool experiment_supply(struct reading *reading, const json_t *value, void *into)
{
    return take_module(reading, value, MODULE_SUPPLY, into);
}
static bool take_runmap(struct reading *reading, const json_t *value, void *into)
{
    return take_module(reading, value, MODULE_RUNMAP, into);
}
static bool take_migrations(struct reading *reading, const json_t *value, void *into)
{
    return take_module(reading, value, MODULE_MIGRATIONS, into);
}
static bool take_statistical(struct reading *reading, const json_t *value, void *into)
{
    return take_module(reading, value, MODULE_STATISTICAL, into);
}

static const struct key module_keys[] = {{"supply", experiment_supply, false},
                                         {"runmap", take_runmap, false},
                                         {"migrations", take_migrations, false},
                                         {"statistical", take_statistical, false},
                                         {0}};

static bool take_analysis(struct reading *reading, const json_t *value, void *into)
{
    struct member *member = into;
    member->analysed = true;
    return reading_object(reading, value, module_keys, &member->modules);
}

static bool take_thread_policy(struct reading *reading, const json_t *value, void *into)
{
    struct member *member = into;
    member->has_policy = true;
    return reading_policy(reading, value, &member->policy);
}

static bool take_priority(struct reading *reading, const json_t *value, void *into)
{
    return reading_integer(reading, value, 1, PRIORITY_MAX, &((struct member *)into)->priority);
}
static bool take_budget(struct reading *reading, const json_t *value, void *into)
{
    return reading_time(reading, value, &((struct member *)into)->budget);
}
static bool take_period(struct reading *reading, const json_t *value, void *into)
{
    return reading_time(reading, value, &((struct member *)into)->period);
}
static bool take_deadline(struct reading *reading, const json_t *value, void *into)
{
    return reading_time(reading, value, &((struct member *)into)->deadline);
}
static bool take_nominal(struct reading *reading, const json_t *value, void *into)
{
    struct member *member = into;
    const char *text = json_string_value(value);
    member->nominal_cpu_time = text != NULL && strcmp(text, "cpu-time") == 0;
    return member->nominal_cpu_time || reading_time(reading, value, &member->nominal);
}

static bool take_cpus(struct reading *reading, const json_t *value, void *into)
{
    struct member *member = into;
    member->has_cpus = true;
    if (json_is_string(value) && parse_cpus(json_string_value(value), &member->cpus))
        return true;
    CPU_ZERO(&member->cpus);
    return json_is_array(value) ? reading_cpu_array(reading, value, &member->cpus)
                                : reading_fault(reading, "must be CPUs, as [0, 1] or \"0-3\"");
}

static bool take_reservation(struct reading *reading, const json_t *value, void *into)
{
    if (!json_is_object(value))
        return reading_fault(reading, "must be a spec, as rtf-spec(5) describes it");
    if (json_object_get(value, "attach") != NULL || json_object_get(value, "token") != NULL ||
        json_object_get(value, "lifetime") != NULL)
        return reading_fault(
            reading,
            "must not have the keys attach, token and lifetime, which rtf muse sets itself");
    ((struct member *)into)->reservation = value;
    return true;
}

static bool take_command(struct reading *reading, const json_t *value, void *into)
{
    size_t i;
    json_t *word;
    if (!json_is_array(value) || json_array_size(value) == 0 ||
        json_array_size(value) > COMMAND_WORDS)
        return reading_fault(reading, "must be a program and its arguments, as [\"prog\", \"-v\"]");
    json_array_foreach((json_t *)value, i, word) if (!json_is_string(word)) return reading_fault(
        reading, "must be a program and its arguments, as [\"prog\", \"-v\"]");
    ((struct member *)into)->command = value;
    return true;
}

static const struct key thread_keys[] = {{"policy", take_thread_policy, false},
                                         {"priority", take_priority, false},
                                         {"budget", take_budget, false},
                                         {"period", take_period, false},
                                         {"deadline", take_deadline, false},
                                         {"cpus", take_cpus, false},
                                         {"phases", experiment_phases, false},
                                         {"analysis", take_analysis, false},
                                         {"nominal", take_nominal, false},
                                         {"reservation", take_reservation, false},
                                         {"command", take_command, false},
                                         {"comment", reading_ignore, false},
                                         {"exec", take_budget, true},
                                         {"hard_rsv", reading_ignore, true},
                                         {0}};

static bool is_name(const char *name)
{
    size_t length =
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    return length > 0 && length <= NAME_MOST && name[length] == '\0' && name[0] != '-' &&
           strcmp(name, "global") != 0;
}

/* For --compat: fills in the defaults of the tool of paper 004. */
static void assume_compat(struct member *member)
{
    if (member->policy == POLICY_DEADLINE) {
        member->period = member->period == 0 ? 10000 * MICROSECOND : member->period;
        member->budget = member->budget == 0 ? 5000 * MICROSECOND : member->budget;
    }
}

static bool check_deadline(struct reading *reading, struct member *member)
{
    member->deadline = member->deadline == 0 ? member->period : member->deadline;
    if (member->budget == 0 || member->period == 0)
        return reading_fault(reading, "has SCHED_DEADLINE and lacks the key \"%s\"",
                             member->budget == 0 ? "budget" : "period");
    if (member->budget > member->deadline || member->deadline > member->period)
        return reading_fault(reading,
                             "must have budget <= deadline <= period: %lld, %lld and %lld ns",
                             (long long)member->budget, (long long)member->deadline,
                             (long long)member->period);
    return true;
}

static bool check_thread(struct reading *reading, struct member *member)
{
    const struct experiment *experiment = reading->experiment;
    if (member->command != NULL && member->phases != NULL)
        return reading_fault(reading, "has both \"phases\" and \"command\"");
    if (member->reservation != NULL &&
        (member->has_policy || member->priority != 0 || member->budget != 0 || member->period != 0))
        return reading_fault(
            reading,
            "has a reservation, which decides on the policy: leave out policy, priority, budget, period and deadline");
    if (member->command == NULL && member->phases == NULL && experiment->reader == READ_TO_RUN)
        return reading_fault(reading, "lacks the key \"phases\" (or \"command\")");
    for (size_t i = 0; i < member->phase_count && member->phases != NULL; i++) {
        if (member->phases[i].kind == PHASE_LOCK &&
            member->phases[i].resource >= experiment->resources)
            return reading_fault(
                reading,
                "locks resource %lld in phase %.40s, but there are %lld: set \"resources\"",
                (long long)member->phases[i].resource, member->phases[i].name,
                (long long)experiment->resources);
        if (member->phases[i].kind == PHASE_SHARED &&
            experiment->shared_bytes < (int64_t)sizeof(double))
            return reading_fault(
                reading,
                "has the shared phase %.40s, but \"shared\" is less than the 8 bytes of a number",
                member->phases[i].name);
    }
    if (member->command != NULL && member->nominal == 0)
        member->nominal = COMMAND_QUANTUM;
    if (!member->has_policy)
        member->policy = experiment->default_policy;
    if (experiment->compat)
        assume_compat(member);
    if (member->priority == 0)
        member->priority = 10;
    return member->reservation != NULL || member->policy != POLICY_DEADLINE ||
           check_deadline(reading, member);
}

bool experiment_threads(struct reading *reading, const json_t *value)
{
    struct experiment *experiment = reading->experiment;
    const char *name;
    json_t *thread;
    if (!json_is_object(value) || json_object_size(value) == 0 ||
        json_object_size(value) > THREADS_MAX)
        return reading_fault(reading, "must be an object of 1 to %d threads", THREADS_MAX);
    experiment->threads = calloc(json_object_size(value), sizeof *experiment->threads);
    if (experiment->threads == NULL)
        return reading_fault(reading, "takes too much memory");
    json_object_foreach((json_t *)value, name, thread)
    {
        struct member *member = &experiment->threads[experiment->thread_count++];
        member->name = name;
        reading->path[reading->depth++] = name;
        if (!is_name(name))
            return reading_fault(
                reading,
                "is not a valid thread name: 1 to %d of A-Z a-z 0-9 _ -, not beginning with -, and not \"global\"",
                NAME_MOST);
        if (!reading_object(reading, thread, thread_keys, member) || !check_thread(reading, member))
            return false;
        reading->depth--;
    }
    return true;
}
