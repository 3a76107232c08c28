#include "grants.h"

#include <stdio.h>
#include <stdlib.h>

#include "acl.h"
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

const char *grant_plugin_name(const struct grant *grant)
{
    if (grant == NULL)
        return NULL;
    if (grant->plugin != NO_PLUGIN)
        return plugin_line(grant->plugin)->name;
    return plugin_line(grant->holdings != NULL ? grant->holdings->plugin : grant_background(grant))->name;
}

bool grant_schedules(const struct grant *grant)
{
    return grant != NULL && grant->plugin != NO_PLUGIN;
}

void holdings_free(struct holding **holdings)
{
    while (*holdings != NULL) {
        struct holding *holding = *holdings;
        *holdings = holding->next;
        acl_release(&holding->charge);
        free(holding);
    }
}

void grant_free(struct grant *grant)
{
    if (grant != NULL)
        holdings_free(&grant->holdings);
    free(grant);
}
