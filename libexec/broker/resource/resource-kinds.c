#include "resource-kinds.h"

static const struct resource_kind *const kinds[RESOURCES] = {[RESOURCE_CPU] = &resource_cpu,
                                                             [RESOURCE_UNITS] = &resource_amount,
                                                             [RESOURCE_NETWORK] = &resource_amount,
                                                             [RESOURCE_DISK] = &resource_disk};

const struct resource_kind *resource_kind(enum resource resource)
{
    return kinds[resource];
}

const struct resource_kind *resource_kind_of(int plugin)
{
    return kinds[plugin_line(plugin)->resource];
}
