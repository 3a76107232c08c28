#include "grants.h"

#include <stdlib.h>

#include "acl.h"
#include "plugin-lines.h"

const char *grant_plugin_name(const struct grant *grant)
{
    return grant == NULL ? NULL : plugin_line(grant->plugin == NO_PLUGIN ? grant->holdings->plugin : grant->plugin)->name;
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
