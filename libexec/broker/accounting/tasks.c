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

void tell_neighbours(uint64_t task, const struct grant *before, const struct grant *after)
{
    for (int i = 0; i < plugins_count(); i++) {
        bool did = before != NULL && plugins_share_cpu(before->plugin, i);
        bool does = after != NULL && plugins_share_cpu(after->plugin, i);
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
    else if (plugins_share_cpu(grant->plugin, plugin))
        plugin_load(plugin, task, grant);
}
