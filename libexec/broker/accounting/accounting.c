#include "accounting.h"

#include <stdlib.h>

#include "acl.h"
#include "ledger.h"
#include "plugins.h"
#include "rest.h"
#include "tasks.h"

void grant_book(struct wish *wish, struct grant *grant)
{
    wish->grant = grant;
    ledger_add(grant);
    tell_neighbours(wish->task, NULL, grant);
}

void grant_unbook(struct wish *wish, bool tell_plugin)
{
    struct grant *grant = wish->grant;
    if (grant == NULL)
        return;
    ledger_remove(grant);
    if (tell_plugin)
        (void)plugin_release(grant->plugin, wish->task);
    tell_neighbours(wish->task, grant, NULL);
    rest_settle(rest_keep(wish, grant, NULL));
    acl_release(&grant->charge);
    wish->grant = NULL;
    free(grant);
}
