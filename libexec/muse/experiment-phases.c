#include "experiment-phases.h"

#include <stdlib.h>

#include "experiment-values.h"

enum { LOOPS_MAX = 2000000000 };

static bool take_loops(struct reading *reading, const json_t *value, void *into)
{
    return reading_integer(reading, value, 1, LOOPS_MAX, &((struct phase *)into)->loops);
}

static bool take_resource(struct reading *reading, const json_t *value, void *into)
{
    return reading_integer(reading, value, 0, RESOURCES_MAX - 1, &((struct phase *)into)->resource);
}

static bool take_memory(struct reading *reading, const json_t *value, void *into)
{
    return reading_integer(reading, value, 1, DOUBLES_MAX, &((struct phase *)into)->doubles);
}

static bool take_duration(struct reading *reading, const json_t *value, void *into)
{
    return reading_time(reading, value, &((struct phase *)into)->duration);
}

static bool take_library(struct reading *reading, const json_t *value, void *into)
{
    if (!json_is_string(value) || json_string_length(value) == 0)
        return reading_fault(reading,
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
    case PHASE_SHARED:
        return phase->loops != 0 || reading_fault(reading, "lacks the key \"loops\"");
    case PHASE_LOCK:
        if (phase->loops == 0 || phase->resource < 0)
            return reading_fault(reading, "lacks the key \"%s\"",
                                 phase->loops == 0 ? "loops" : "res");
        return true;
    case PHASE_MEMORY:
        if (phase->loops == 0 || phase->doubles == 0)
            return reading_fault(reading, "lacks the key \"%s\"",
                                 phase->loops == 0 ? "loops" : "memory");
        return true;
    case PHASE_BUSY:
    case PHASE_WATCH:
    case PHASE_SLEEP:
        return phase->duration != 0 || reading_fault(reading, "lacks the key \"duration\"");
    case PHASE_USER:
        return phase->library != NULL || reading_fault(reading, "lacks the key \"library\"");
    }
    return false;
}

static bool take_phase(struct reading *reading, const json_t *value, struct phase *phase)
{
    const char *name = reading->path[reading->depth - 1];
    for (size_t i = 0; i < sizeof phase_kinds / sizeof *phase_kinds; i++)
        if (name[0] == phase_kinds[i].letter) {
            *phase = (struct phase){.kind = phase_kinds[i].kind, .resource = -1, .name = name};
            return reading_object(reading, value, phase_kinds[i].keys, phase) &&
                   check_phase(reading, phase);
        }
    return reading_fault(
        reading,
        "is no phase: names begin with c (compute), l (lock), m (memory), s (shared), b (busy), w (watch), z (sleep) or u (user)");
}

bool experiment_phases(struct reading *reading, const json_t *value, void *into)
{
    struct member *member = into;
    const char *name;
    json_t *phase;
    if (!json_is_object(value) || json_object_size(value) == 0 ||
        json_object_size(value) > PHASES_MAX)
        return reading_fault(reading, "must be an object of 1 to %d phases", PHASES_MAX);
    member->phases = calloc(json_object_size(value), sizeof *member->phases);
    if (member->phases == NULL)
        return reading_fault(reading, "takes too much memory");
    json_object_foreach((json_t *)value, name, phase)
    {
        reading->path[reading->depth++] = name;
        if (!take_phase(reading, phase, &member->phases[member->phase_count++]))
            return false;
        reading->depth--;
    }
    return true;
}
