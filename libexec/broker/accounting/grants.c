#include "grants.h"

#include <string.h>

#include "plugin-lines.h"
#include "spec.h"
#include "units.h"

uint64_t grant_window(const struct grant *grant)
{
    /* A task loads its CPU by Q/T, however short its deadline. Only of a sufficient test under EDF, or of none, can
     * it be said that the densities, too, have to stay below the threshold. */
    const struct plugin_line *line = plugin_line(grant->plugin);
    bool by_rate = !line->deadline || strcmp(line->tests, "exact") == 0 || strcmp(line->tests, "necessary") == 0;
    return by_rate && grant->spec.period != 0 ? grant->spec.period : spec_window(&grant->spec);
}

uint64_t grant_utilization(const struct grant *grant)
{
    uint64_t window = grant_window(grant);
    return grant->plan.runtime == 0 || window == 0 ? 0 : utilization(grant->plan.runtime, window);
}
