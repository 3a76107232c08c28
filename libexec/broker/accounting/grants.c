#include "grants.h"

#include <stdlib.h>

#include "acl.h"
#include "background.h"
#include "plugin-lines.h"
#include "resource-cpu.h"
#include "spec.h"

const char *grant_plugin_name(const struct grant *grant)
{
    if (grant == NULL)
        return NULL;
    if (grant->plugin != NO_PLUGIN)
        return plugin_line(grant->plugin)->name;
    if (grant->holdings == NULL && grant->background == 0)
        return NULL; /* the grant has only extras, and no plugin judges extras */
    return plugin_line(grant->holdings != NULL ? grant->holdings->plugin : grant_background(grant))
        ->name;
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

bool grant_is_enforced(const struct grant *grant)
{
    const struct plugin_line *line = plugin_line(grant->plugin);
    return line->enforced && grant->plan.runtime != 0 && cpu_window(grant) != 0;
}

void grant_free(struct grant *grant)
{
    if (grant == NULL)
        return;
    holdings_free(&grant->holdings);
    spec_free(&grant->spec);
    free(grant);
}
