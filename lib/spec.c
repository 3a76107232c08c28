#include "spec.h"

#include <stdlib.h>

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
    return spec->claims == NULL || spec->runtime != 0 || spec->desired_runtime != 0 || spec->period != 0 || spec->deadline != 0 || spec->priority != 0 ||
           spec->plugin != NULL || spec->ignore_admission || CPU_COUNT(&spec->cpus) != 0;
}

uint64_t spec_least_runtime(const struct spec *spec)
{
    return spec->runtime_least != 0 ? spec->runtime_least : spec->runtime;
}

void spec_free(struct spec *spec)
{
    free(spec->plugin);
    free(spec->token);
    spec->plugin = spec->token = NULL;
    claims_free(&spec->claims);
}

const char *spec_relations(const struct spec *spec, char why[static REASON_BYTES])
{
    uint64_t window = spec_window(spec);
    const char *bound = window == spec->deadline && window != 0 ? "deadline" : "period";
    if (spec->deadline != 0 && spec->period != 0 && spec->deadline > spec->period) {
        fault_in(why, REASON_BYTES, "must not exceed the period: %lluus against %lluus", (unsigned long long)spec->deadline, (unsigned long long)spec->period);
        return "deadline";
    }
    if (window != 0 && spec->runtime > window) {
        fault_in(why, REASON_BYTES, "must not exceed the %s: %lluus against %lluus", bound, (unsigned long long)spec->runtime, (unsigned long long)window);
        return "runtime";
    }
    if (spec->dry_run && spec->attach != 0) {
        fault_in(why, REASON_BYTES, "cannot stand beside the key \"attach\": a dry run holds nothing that a thread could be attached to");
        return "dry_run";
    }
    if (spec->attach != 0 && !spec_claims_cpu(spec) && !claims_have(spec->claims, RESOURCE_NETWORK) && !claims_have(spec->claims, RESOURCE_DISK)) {
        fault_in(why, REASON_BYTES, "needs a claim on CPU time beside it, such as runtime and period, or on a network or disk");
        return "attach";
    }
    if (spec->desired_runtime == 0)
        return NULL;
    if (spec->runtime == 0)
        fault_in(why, REASON_BYTES, "needs the key \"runtime\" beside it");
    else if (spec->desired_runtime < spec->runtime)
        fault_in(why, REASON_BYTES, "must not be below the runtime: %lluus against %lluus", (unsigned long long)spec->desired_runtime,
              (unsigned long long)spec->runtime);
    else if (window != 0 && spec->desired_runtime > window)
        fault_in(why, REASON_BYTES, "must not exceed the %s: %lluus against %lluus", bound, (unsigned long long)spec->desired_runtime,
              (unsigned long long)window);
    else
        return NULL;
    return "desired_runtime";
}
