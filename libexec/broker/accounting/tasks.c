#include "tasks.h"

#include "plugins.h"

static uint64_t last_task;

void tasks_from(uint64_t first)
{
    if (first > last_task)
        last_task = first;
}

uint64_t task_new(void)
{
    return ++last_task;
}

static bool shares_cpu(const struct grant *grant, int plugin)
{
    return grant->plugin != NO_PLUGIN && plugins_share_cpu(grant->plugin, plugin);
}

void tell_neighbours(uint64_t task, const struct grant *before, const struct grant *after)
{
    for (int i = 0; i < plugins_count(); i++) {
        bool did = before != NULL && shares_cpu(before, i);
        bool does = after != NULL && shares_cpu(after, i);
        if (does)
            plugin_load(i, task, after);
        else if (did)
            plugin_load(i, task, NULL);
    }
}

void feed_one(int plugin, uint64_t task, const struct grant *grant)
{
    if (grant->plugin == plugin)
        (void)plugin_schedule(plugin, task, grant);
    else if (shares_cpu(grant, plugin))
        plugin_load(plugin, task, grant);
    for (const struct holding *holding = grant->holdings; holding != NULL; holding = holding->next)
        if (holding->plugin == plugin)
            (void)plugin_schedule(plugin, task, grant);
}
