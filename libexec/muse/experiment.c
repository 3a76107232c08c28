#include "experiment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "units.h"

enum { DEPTH = 8, LOOPS_MAX = 2000000000, DOUBLES_MAX = 1 << 30, NAME_MOST = 64 };
#define MICROSECOND INT64_C(1000)
#define SECOND      INT64_C(1000000000)
#define DAY         (86400 * SECOND)

/* The text, and the present position in it. */
struct reading {
    const char *text;
    size_t length;
    const char *path[DEPTH];
    int depth;
    char *why;
    struct experiment *experiment;
};

/* ---- faults and their places ---- */

/* True if the string between `start` and `end` is the key. A key with escapes is never found, so
 * its line is unknown. */
static bool is_key(const char *start, const char *end, const char *key)
{
    size_t length = strlen(key);
    return (size_t)(end - start) == length && memcmp(start, key, length) == 0;
}

/* Finds the line of the key at reading->path. jansson keeps no positions. The text is valid JSON: a
 * key is a string before a colon. `matched` counts how many keys of the path are open. 0: not
 * found. */
static int line_of(const struct reading *reading)
{
    const char *at = reading->text, *end = reading->text + reading->length, *start = NULL,
               *stop = NULL;
    int line = 1, line_of_string = 1, depth = 0, matched = 0;
    for (; at < end; at++) {
        if (*at == '"') {
            line_of_string = line;
            start = at + 1;
            while (*++at != '"')
                at += *at == '\\';
            stop = at;
        } else if (*at == ':' && depth == matched + 1 && start != NULL &&
                   is_key(start, stop, reading->path[matched])) {
            if (++matched == reading->depth)
                return line_of_string;
        }
        line += *at == '\n';
        depth += *at == '{' || *at == '[';
        if (*at == '}' || *at == ']') {
            depth--;
            if (matched > 0 && matched >= depth) /* the right key, but in another object */
                matched = depth - 1;
        }
    }
    return 0;
}

static void describe_place(const struct reading *reading, char *place, size_t size)
{
    size_t used = 0;
    place[0] = '\0';
    for (int i = 0; i < reading->depth && used < size; i++)
        used += (size_t)snprintf(place + used, size - used, "%s%.64s", i == 0 ? "" : ".",
                                 reading->path[i]);
}

static bool fault(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool fault(struct reading *reading, const char *format, ...)
{
    char place[200], what[EXPERIMENT_WHY - 250];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    describe_place(reading, place, sizeof place);
    int line = reading->depth == 0 ? 0 : line_of(reading);
    if (reading->depth == 0)
        snprintf(reading->why, EXPERIMENT_WHY, "%s", what);
    else if (line == 0)
        snprintf(reading->why, EXPERIMENT_WHY, "key \"%s\" %s", place, what);
    else
        snprintf(reading->why, EXPERIMENT_WHY, "key \"%s\" (line %d) %s", place, line, what);
    for (char *byte = reading->why; *byte != '\0'; byte++)
        if ((unsigned char)*byte < ' ' || (unsigned char)*byte > '~')
            *byte = '?';
    return false;
}

/* ---- objects by tables ---- */

typedef bool take_value(struct reading *reading, const json_t *value, void *into);

struct key {
    const char *name;
    take_value *take;
    bool compat; /* only with --compat */
};

static const struct key *find_key(const struct reading *reading, const struct key *keys,
                                  const char *name)
{
    for (; keys->name != NULL; keys++)
        if (strcmp(keys->name, name) == 0 && (!keys->compat || reading->experiment->compat))
            return keys;
    return NULL;
}

static bool unknown_key(struct reading *reading, const struct key *keys)
{
    char list[250] = "";
    size_t used = 0;
    for (; keys->name != NULL && used < sizeof list; keys++)
        if (!keys->compat || reading->experiment->compat)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used == 0 ? "" : ", ",
                                     keys->name);
    return fault(reading, "is unknown; known here: %s", list);
}

static bool take_object(struct reading *reading, const json_t *object, const struct key *keys,
                        void *into)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return fault(reading, "must be an object");
    json_object_foreach((json_t *)object, name, value)
    {
        const struct key *key = find_key(reading, keys, name);
        reading->path[reading->depth++] = name;
        if (key == NULL)
            return unknown_key(reading, keys);
        if (!key->take(reading, value, into))
            return false;
        reading->depth--;
    }
    return true;
}

/* ---- values ---- */

static bool ignore(struct reading *reading, const json_t *value, void *into)
{
    (void)reading, (void)value, (void)into;
    return true;
}

static bool take_integer(struct reading *reading, const json_t *value, int64_t least, int64_t most,
                         int64_t *into)
{
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most)
        return fault(reading, "must be a whole number from %lld to %lld", (long long)least,
                     (long long)most);
    *into = json_integer_value(value);
    return true;
}

/* Parses digits and a unit: "5ms". */
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

/* Refuses a bare number: it is nanoseconds in the paper's section 5, microseconds in the paper's
 * tool, and seconds in some keys of both. Only --compat tells which. */
static bool fault_of_time(struct reading *reading, const char *bare)
{
    if (reading->experiment->compat)
        return fault(
            reading,
            "must be a time: a whole number of %s (--compat), or a string such as \"5ms\", up to a day",
            bare);
    return fault(
        reading,
        "must be a string with a time and its unit, such as \"5ms\": ns, us, ms, s, min, h or d, up to a day");
}

static bool take_time(struct reading *reading, const json_t *value, int64_t *into)
{
    if (reading->experiment->compat && json_is_integer(value) && json_integer_value(value) >= 1 &&
        json_integer_value(value) <= DAY / MICROSECOND) {
        *into = json_integer_value(value) * MICROSECOND;
        return true;
    }
    return (json_is_string(value) && parse_span(json_string_value(value), into)) ||
           fault_of_time(reading, "microseconds");
}

/* Takes the duration of an experiment, or its horizon. */
static bool take_seconds(struct reading *reading, const json_t *value, int64_t *into)
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

const char *policy_name(enum policy policy)
{
    return policy_names[policy];
}

static bool take_policy(struct reading *reading, const json_t *value, enum policy *into)
{
    const char *text = json_string_value(value);
    for (size_t i = 0; text != NULL && i < sizeof policy_names / sizeof *policy_names; i++)
        if (strcmp(policy_names[i], text) == 0) {
            *into = (enum policy)i;
            return true;
        }
    return fault(
        reading,
        "must be one of SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR, SCHED_DEADLINE");
}

static bool take_cpu_array(struct reading *reading, const json_t *array, cpu_set_t *cpus)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)array, i, item)
    {
        int64_t cpu = 0;
        if (!take_integer(reading, item, 0, CPU_SETSIZE - 1, &cpu))
            return fault(reading, "must be CPUs, as [0, 1] or \"0-3\"");
        CPU_SET((size_t)cpu, cpus);
    }
    return CPU_COUNT(cpus) > 0 || fault(reading, "must name a CPU");
}

/* ---- phases ---- */

static bool take_loops(struct reading *reading, const json_t *value, void *into)
{
    return take_integer(reading, value, 1, LOOPS_MAX, &((struct phase *)into)->loops);
}

static bool take_resource(struct reading *reading, const json_t *value, void *into)
{
    return take_integer(reading, value, 0, RESOURCES_MAX - 1, &((struct phase *)into)->resource);
}

static bool take_memory(struct reading *reading, const json_t *value, void *into)
{
    return take_integer(reading, value, 1, DOUBLES_MAX, &((struct phase *)into)->doubles);
}

static bool take_duration(struct reading *reading, const json_t *value, void *into)
{
    return take_time(reading, value, &((struct phase *)into)->duration);
}

static bool take_library(struct reading *reading, const json_t *value, void *into)
{
    if (!json_is_string(value) || json_string_length(value) == 0)
        return fault(reading,
                     "must be the file name of a shared object with a function muse_phase");
    ((struct phase *)into)->library = (char *)json_string_value(value);
    return true;
}

static const struct key compute_keys[] = {{"loops", take_loops, false}, {0}};
static const struct key lock_keys[] = {{"loops", take_loops, false},
                                       {"res", take_resource, false},
                                       {"resource_id", take_resource, true},
                                       {0}};
static const struct key memory_keys[] = {{"loops", take_loops, false},
                                         {"memory", take_memory, false},
                                         {0}};
static const struct key sleep_keys[] = {{"duration", take_duration, false}, {0}};
static const struct key user_keys[] = {{"library", take_library, false},
                                       {"loops", take_loops, false},
                                       {0}};

static const struct {
    char letter;
    enum phase_kind kind;
    const struct key *keys;
} phase_kinds[] = {{'c', PHASE_COMPUTE, compute_keys}, {'l', PHASE_LOCK, lock_keys},
                   {'m', PHASE_MEMORY, memory_keys},   {'s', PHASE_SHARED, compute_keys},
                   {'z', PHASE_SLEEP, sleep_keys},     {'b', PHASE_BUSY, sleep_keys},
                   {'w', PHASE_WATCH, sleep_keys},     {'u', PHASE_USER, user_keys}};

static bool check_phase(struct reading *reading, const struct phase *phase)
{
    switch (phase->kind) {
    case PHASE_COMPUTE:
    case PHASE_SHARED: return phase->loops != 0 || fault(reading, "lacks the key \"loops\"");
    case PHASE_LOCK:
        if (phase->loops == 0 || phase->resource < 0)
            return fault(reading, "lacks the key \"%s\"", phase->loops == 0 ? "loops" : "res");
        return true;
    case PHASE_MEMORY:
        if (phase->loops == 0 || phase->doubles == 0)
            return fault(reading, "lacks the key \"%s\"", phase->loops == 0 ? "loops" : "memory");
        return true;
    case PHASE_BUSY:
    case PHASE_WATCH:
    case PHASE_SLEEP: return phase->duration != 0 || fault(reading, "lacks the key \"duration\"");
    case PHASE_USER: return phase->library != NULL || fault(reading, "lacks the key \"library\"");
    }
    return false;
}

static bool take_phase(struct reading *reading, const json_t *value, struct phase *phase)
{
    const char *name = reading->path[reading->depth - 1];
    for (size_t i = 0; i < sizeof phase_kinds / sizeof *phase_kinds; i++)
        if (name[0] == phase_kinds[i].letter) {
            *phase = (struct phase){.kind = phase_kinds[i].kind, .resource = -1, .name = name};
            return take_object(reading, value, phase_kinds[i].keys, phase) &&
                   check_phase(reading, phase);
        }
    return fault(
        reading,
        "is no phase: names begin with c (compute), l (lock), m (memory), s (shared), b (busy), w (watch), z (sleep) or u (user)");
}

static bool take_phases(struct reading *reading, const json_t *value, void *into)
{
    struct member *member = into;
    const char *name;
    json_t *phase;
    if (!json_is_object(value) || json_object_size(value) == 0 ||
        json_object_size(value) > PHASES_MAX)
        return fault(reading, "must be an object of 1 to %d phases", PHASES_MAX);
    member->phases = calloc(json_object_size(value), sizeof *member->phases);
    if (member->phases == NULL)
        return fault(reading, "takes too much memory");
    json_object_foreach((json_t *)value, name, phase)
    {
        reading->path[reading->depth++] = name;
        if (!take_phase(reading, phase, &member->phases[member->phase_count++]))
            return false;
        reading->depth--;
    }
    return true;
}

/* ---- threads ---- */

static bool take_module(struct reading *reading, const json_t *value, unsigned module,
                        unsigned *modules)
{
    if (!json_is_boolean(value))
        return fault(reading, "must be true or false");
    *modules |= json_is_true(value) ? module : 0;
    return true;
}

static bool take_supply(struct reading *reading, const json_t *value, void *into)
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

static const struct key module_keys[] = {{"supply", take_supply, false},
                                         {"runmap", take_runmap, false},
                                         {"migrations", take_migrations, false},
                                         {"statistical", take_statistical, false},
                                         {0}};
static const struct key global_module_keys[] = {{"supply", take_supply, false}, {0}};

static bool take_analysis(struct reading *reading, const json_t *value, void *into)
{
    struct member *member = into;
    member->analysed = true;
    return take_object(reading, value, module_keys, &member->modules);
}

static bool take_thread_policy(struct reading *reading, const json_t *value, void *into)
{
    struct member *member = into;
    member->has_policy = true;
    return take_policy(reading, value, &member->policy);
}

static bool take_priority(struct reading *reading, const json_t *value, void *into)
{
    return take_integer(reading, value, 1, PRIORITY_MAX, &((struct member *)into)->priority);
}
static bool take_budget(struct reading *reading, const json_t *value, void *into)
{
    return take_time(reading, value, &((struct member *)into)->budget);
}
static bool take_period(struct reading *reading, const json_t *value, void *into)
{
    return take_time(reading, value, &((struct member *)into)->period);
}
static bool take_deadline(struct reading *reading, const json_t *value, void *into)
{
    return take_time(reading, value, &((struct member *)into)->deadline);
}
static bool take_nominal(struct reading *reading, const json_t *value, void *into)
{
    struct member *member = into;
    const char *text = json_string_value(value);
    member->nominal_cpu_time = text != NULL && strcmp(text, "cpu-time") == 0;
    return member->nominal_cpu_time || take_time(reading, value, &member->nominal);
}

static bool take_cpus(struct reading *reading, const json_t *value, void *into)
{
    struct member *member = into;
    member->has_cpus = true;
    if (json_is_string(value) && parse_cpus(json_string_value(value), &member->cpus))
        return true;
    CPU_ZERO(&member->cpus);
    return json_is_array(value) ? take_cpu_array(reading, value, &member->cpus)
                                : fault(reading, "must be CPUs, as [0, 1] or \"0-3\"");
}

static bool take_reservation(struct reading *reading, const json_t *value, void *into)
{
    if (!json_is_object(value))
        return fault(reading, "must be a spec, as rtf-spec(5) describes it");
    if (json_object_get(value, "attach") != NULL || json_object_get(value, "token") != NULL ||
        json_object_get(value, "lifetime") != NULL)
        return fault(reading,
                     "must not have the keys attach, token and lifetime: they are set here");
    ((struct member *)into)->reservation = value;
    return true;
}

static bool take_command(struct reading *reading, const json_t *value, void *into)
{
    size_t i;
    json_t *word;
    if (!json_is_array(value) || json_array_size(value) == 0 ||
        json_array_size(value) > COMMAND_WORDS)
        return fault(reading, "must be a program and its arguments, as [\"prog\", \"-v\"]");
    json_array_foreach((json_t *)value, i, word) if (!json_is_string(word)) return fault(
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
                                         {"phases", take_phases, false},
                                         {"analysis", take_analysis, false},
                                         {"nominal", take_nominal, false},
                                         {"reservation", take_reservation, false},
                                         {"command", take_command, false},
                                         {"comment", ignore, false},
                                         {"exec", take_budget, true},
                                         {"hard_rsv", ignore, true},
                                         {0}};

static bool is_name(const char *name)
{
    size_t length =
        strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    return length > 0 && length <= NAME_MOST && name[length] == '\0' && name[0] != '-' &&
           strcmp(name, "global") != 0;
}

/* Fills in the defaults of the paper's tool. */
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
        return fault(reading, "has SCHED_DEADLINE and lacks the key \"%s\"",
                     member->budget == 0 ? "budget" : "period");
    if (member->budget > member->deadline || member->deadline > member->period)
        return fault(reading, "must have budget <= deadline <= period: %lld, %lld and %lld ns",
                     (long long)member->budget, (long long)member->deadline,
                     (long long)member->period);
    return true;
}

static bool check_thread(struct reading *reading, struct member *member)
{
    const struct experiment *experiment = reading->experiment;
    if (member->command != NULL && member->phases != NULL)
        return fault(reading, "has both \"phases\" and \"command\"");
    if (member->reservation != NULL &&
        (member->has_policy || member->priority != 0 || member->budget != 0 || member->period != 0))
        return fault(
            reading,
            "has a reservation, which decides on the policy: no policy, priority, budget, period or deadline beside it");
    if (member->command == NULL && member->phases == NULL && experiment->reader == READ_TO_RUN)
        return fault(reading, "lacks the key \"phases\" (or \"command\")");
    for (size_t i = 0; i < member->phase_count && member->phases != NULL; i++) {
        if (member->phases[i].kind == PHASE_LOCK &&
            member->phases[i].resource >= experiment->resources)
            return fault(
                reading,
                "locks resource %lld in phase %.40s, but there are %lld: set \"resources\"",
                (long long)member->phases[i].resource, member->phases[i].name,
                (long long)experiment->resources);
        if (member->phases[i].kind == PHASE_SHARED &&
            experiment->shared_bytes < (int64_t)sizeof(double))
            return fault(
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

static bool take_threads(struct reading *reading, const json_t *value)
{
    struct experiment *experiment = reading->experiment;
    const char *name;
    json_t *thread;
    if (!json_is_object(value) || json_object_size(value) == 0 ||
        json_object_size(value) > THREADS_MAX)
        return fault(reading, "must be an object of 1 to %d threads", THREADS_MAX);
    experiment->threads = calloc(json_object_size(value), sizeof *experiment->threads);
    if (experiment->threads == NULL)
        return fault(reading, "takes too much memory");
    json_object_foreach((json_t *)value, name, thread)
    {
        struct member *member = &experiment->threads[experiment->thread_count++];
        member->name = name;
        reading->path[reading->depth++] = name;
        if (!is_name(name))
            return fault(
                reading,
                "is not a valid thread name: 1 to %d of A-Z a-z 0-9 _ -, not beginning with -, and not \"global\"",
                NAME_MOST);
        if (!take_object(reading, thread, thread_keys, member) || !check_thread(reading, member))
            return false;
        reading->depth--;
    }
    return true;
}

/* ---- top level ---- */

static bool take_default_policy(struct reading *reading, const json_t *value, void *into)
{
    return take_policy(reading, value, &((struct experiment *)into)->default_policy);
}
static bool take_experiment_duration(struct reading *reading, const json_t *value, void *into)
{
    return take_seconds(reading, value, &((struct experiment *)into)->duration);
}
static bool take_horizon(struct reading *reading, const json_t *value, void *into)
{
    return take_seconds(reading, value, &((struct experiment *)into)->horizon);
}
static bool take_processors(struct reading *reading, const json_t *value, void *into)
{
    return take_integer(reading, value, 1, CPU_SETSIZE, &((struct experiment *)into)->processors);
}
static bool take_global_analysis(struct reading *reading, const json_t *value, void *into)
{
    unsigned modules = 0;
    if (!take_object(reading, value, global_module_keys, &modules))
        return false;
    ((struct experiment *)into)->global_analysed = modules != 0;
    return true;
}

static const struct key global_keys[] = {{"default_policy", take_default_policy, false},
                                         {"duration", take_experiment_duration, false},
                                         {"horizon", take_horizon, false},
                                         {"processors", take_processors, false},
                                         {"analysis", take_global_analysis, false},
                                         {"comment", ignore, false},
                                         {"logdir", ignore, true},
                                         {"logbasename", ignore, true},
                                         {"lock_pages", ignore, true},
                                         {"ftrace", ignore, true},
                                         {0}};

static bool take_global(struct reading *reading, const json_t *value, void *into)
{
    return take_object(reading, value, global_keys, into);
}
static bool take_resources(struct reading *reading, const json_t *value, void *into)
{
    return take_integer(reading, value, 0, RESOURCES_MAX, &((struct experiment *)into)->resources);
}
/* The paper counts bytes; the paper's tool counts doubles. */
static bool take_shared(struct reading *reading, const json_t *value, void *into)
{
    int64_t *bytes = &((struct experiment *)into)->shared_bytes;
    const int64_t unit = reading->experiment->compat ? (int64_t)sizeof(double) : 1;
    if (!take_integer(reading, value, 0, (int64_t)DOUBLES_MAX * (int64_t)sizeof(double) / unit,
                      bytes))
        return false;
    *bytes *= unit;
    return true;
}

static bool refuse_sweep(struct reading *reading, const json_t *value, void *into)
{
    (void)value, (void)into;
    return fault(reading, "describes several experiments: run them with rtf muse sweep");
}

static const struct key top_keys[] = {{"global", take_global, false},
                                      {"resources", take_resources, false},
                                      {"shared", take_shared, false},
                                      {"threads", ignore, false},
                                      {"comment", ignore, false},
                                      {"sweep", refuse_sweep, false},
                                      {0}};

static json_t *load(struct reading *reading)
{
    json_error_t error;
    json_t *json = json_loadb(reading->text, reading->length, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL)
        fault(reading, "is not one JSON object: line %d, column %d: %.120s", error.line,
              error.column, error.text);
    else if (!json_is_object(json)) {
        fault(reading, "must be one JSON object with \"global\" and \"threads\"");
        json_decref(json);
        json = NULL;
    }
    return json;
}

/* Threads come last, because the other keys, in any order, say what threads may use. */
bool experiment_parse(const char *text, size_t length, enum reader reader, bool compat,
                      struct experiment *experiment, char why[static EXPERIMENT_WHY])
{
    struct reading reading = {.text = text, .length = length, .why = why, .experiment = experiment};
    *experiment = (struct experiment){.compat = compat, .reader = reader, .duration = SECOND};
    if (length > EXPERIMENT_BYTES_MAX)
        return fault(&reading, "is longer than %d bytes", EXPERIMENT_BYTES_MAX);
    experiment->json = load(&reading);
    if (experiment->json == NULL || !take_object(&reading, experiment->json, top_keys, experiment))
        return false;
    const json_t *threads = json_object_get(experiment->json, "threads");
    if (threads == NULL)
        return fault(&reading, "lacks the key \"threads\"");
    reading.path[reading.depth++] = "threads";
    if (experiment->horizon == 0)
        experiment->horizon = experiment->duration / 10;
    return take_threads(&reading, threads);
}

static char *read_text(const char *path, size_t *length, char *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd < 0 ? NULL : malloc(EXPERIMENT_BYTES_MAX + 2);
    ssize_t got = 1;
    *length = 0;
    while (text != NULL && got > 0 && *length <= EXPERIMENT_BYTES_MAX) {
        got = read(fd, text + *length, EXPERIMENT_BYTES_MAX + 1 - *length);
        if (got < 0)
            break;
        *length += (size_t)got;
    }
    if (text == NULL || got < 0) {
        snprintf(why, EXPERIMENT_WHY, "cannot be read: %s", strerror(errno));
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

bool experiment_read(const char *path, enum reader reader, bool compat,
                     struct experiment *experiment, char why[static EXPERIMENT_WHY])
{
    size_t length;
    *experiment = (struct experiment){0};
    char *text = read_text(path, &length, why);
    bool good = text != NULL && experiment_parse(text, length, reader, compat, experiment, why);
    free(text);
    return good;
}

void experiment_free(struct experiment *experiment)
{
    for (size_t i = 0; i < experiment->thread_count; i++)
        free(experiment->threads[i].phases);
    free(experiment->threads);
    json_decref(experiment->json);
    *experiment = (struct experiment){0};
}
