#include "spec.h"

#include <stdlib.h>
#include <string.h>

#include "units.h"

uint64_t spec_window(const struct spec *spec)
{
    if (spec->period == 0 || (spec->deadline != 0 && spec->deadline < spec->period))
        return spec->deadline;
    return spec->period;
}

int spec_weight(const struct spec *spec)
{
    return spec->weight == 0 ? 1 : spec->weight;
}

bool spec_claims_cpu(const struct spec *spec)
{
    return (spec->claims == NULL && !extras_any(&spec->extras)) || spec->runtime != 0 ||
           spec->desired_runtime != 0 || spec->period != 0 || spec->deadline != 0 ||
           spec->blocking != 0 || spec->priority != 0 || spec->plugin != NULL ||
           spec->ignore_admission || spec->reclaim || spec->overrun_signal || spec->cpus != NULL;
}

uint64_t spec_least_runtime(const struct spec *spec)
{
    return spec->mode != NULL && spec->mode->runtime_least != 0 ? spec->mode->runtime_least
                                                                : spec->runtime;
}

void spec_free(struct spec *spec)
{
    free(spec->plugin);
    free(spec->token);
    free(spec->mode);
    free(spec->cpus);
    spec->plugin = spec->token = NULL;
    spec->mode = NULL;
    spec->cpus = NULL;
    claims_free(&spec->claims);
}

static void *copy_of(const void *what, size_t size)
{
    if (what == NULL)
        return NULL;
    void *copy = malloc(size);
    if (copy == NULL)
        abort();
    return memcpy(copy, what, size);
}

void spec_take_mode(struct spec *spec, const struct mode *mode)
{
    free(spec->mode);
    spec->mode = copy_of(mode, sizeof *mode);
}

bool spec_take_cpus(struct spec *spec, const char *list)
{
    cpu_set_t cpus;
    if (!parse_cpus(list, &cpus))
        return false;
    free(spec->cpus);
    spec->cpus = copy_of(&cpus, sizeof cpus);
    return true;
}

struct spec spec_copy(const struct spec *spec)
{
    struct spec copy = *spec;
    copy.plugin = copy.token = NULL;
    copy.claims = NULL;
    copy.mode = copy_of(spec->mode, sizeof *spec->mode);
    copy.cpus = copy_of(spec->cpus, sizeof *spec->cpus);
    return copy;
}

/* NULL: valid; else the wrong key. */
static const char *blocking_fault(const struct spec *spec, uint64_t window, const char *bound,
                                  char why[static REASON_BYTES])
{
    if (spec->blocking == 0)
        return NULL;
    if (spec->runtime == 0)
        fault_in(why, REASON_BYTES, "needs the key \"runtime\" beside it");
    else if (window != 0 && spec->blocking > window)
        fault_in(why, REASON_BYTES, "must not exceed the %s: %lluus against %lluus", bound,
                 (unsigned long long)spec->blocking, (unsigned long long)window);
    else
        return NULL;
    return "blocking";
}

const char *spec_relations(const struct spec *spec, char why[static REASON_BYTES])
{
    uint64_t window = spec_window(spec);
    const char *bound = window == spec->deadline && window != 0 ? "deadline" : "period";
    if (spec->deadline != 0 && spec->period != 0 && spec->deadline > spec->period) {
        fault_in(why, REASON_BYTES, "must not exceed the period: %lluus against %lluus",
                 (unsigned long long)spec->deadline, (unsigned long long)spec->period);
        return "deadline";
    }
    if (window != 0 && spec->runtime > window) {
        fault_in(why, REASON_BYTES, "must not exceed the %s: %lluus against %lluus", bound,
                 (unsigned long long)spec->runtime, (unsigned long long)window);
        return "runtime";
    }
    if (spec->dry_run && spec->attach != 0) {
        fault_in(why, REASON_BYTES,
                 "cannot stand beside the key \"attach\": a dry run reserves nothing");
        return "dry_run";
    }
    if (spec->attach != 0 && !spec_claims_cpu(spec) && !extras_any(&spec->extras) &&
        !claims_have(spec->claims, RESOURCE_NETWORK) && !claims_have(spec->claims, RESOURCE_DISK)) {
        fault_in(
            why, REASON_BYTES,
            "needs a claim beside it: on CPU time (such as runtime and period), a network or a disk");
        return "attach";
    }
    if (spec->desired_runtime == 0)
        return blocking_fault(spec, window, bound, why);
    if (spec->runtime == 0)
        fault_in(why, REASON_BYTES, "needs the key \"runtime\" beside it");
    else if (spec->desired_runtime < spec->runtime)
        fault_in(why, REASON_BYTES, "must not be below the runtime: %lluus against %lluus",
                 (unsigned long long)spec->desired_runtime, (unsigned long long)spec->runtime);
    else if (window != 0 && spec->desired_runtime > window)
        fault_in(why, REASON_BYTES, "must not exceed the %s: %lluus against %lluus", bound,
                 (unsigned long long)spec->desired_runtime, (unsigned long long)window);
    else
        return blocking_fault(spec, window, bound, why);
    return "desired_runtime";
}
