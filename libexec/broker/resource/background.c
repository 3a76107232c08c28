#include "background.h"

#include <stdio.h>

#include "plugin-lines.h"

int grant_background(const struct grant *grant)
{
    return grant->background == 0 ? NO_PLUGIN : __builtin_ctzll(grant->background);
}

int grant_background_after(const struct grant *grant, int plugin)
{
    const uint64_t later = grant->background >> plugin >> 1;
    return later == 0 ? NO_PLUGIN : plugin + 1 + __builtin_ctzll(later);
}

struct claim grant_background_claim(int plugin)
{
    const struct plugin_line *line = plugin_line(plugin);
    struct claim claim = {.resource = line->resource, .background = true};
    snprintf(claim.plugin, sizeof claim.plugin, "%s", line->name);
    return claim;
}
