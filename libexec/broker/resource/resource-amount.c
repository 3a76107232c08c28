/* The functions of all resources but CPU time: a claim takes an amount of a line's capacity, and
 * has no plan (resource-cpu.h). Each line has one pool. The pool of a disk is the disk's time. */
#include <stdio.h>

#include "resource-kinds.h"

static uint64_t used[PLUGINS_MAX];

static struct pool pool_of(int plugin)
{
    return (struct pool){.of = resource_kind_of(plugin),
                         .plugin = plugin,
                         .cpu = -1,
                         .capacity = plugin_line(plugin)->capacity,
                         .used = &used[plugin]};
}

static void amount_ask(struct paragraph_output *output, int plugin, const struct spec *spec,
                       uint64_t most)
{
    for (const struct claim *claim = spec->claims; claim != NULL; claim = claim->next)
        if (claim->resource == plugin_line(plugin)->resource)
            claim_add_values(output, claim);
    if (most != UINT64_MAX)
        paragraph_add_number(output, "max_amount", most);
}

static void amount_tell(struct paragraph_output *output, int plugin, const struct grant *grant)
{
    for (const struct holding *holding = grant->holdings; holding != NULL; holding = holding->next)
        if (holding->plugin == plugin)
            claim_add_values(output, &holding->claim);
}

static bool take_plan(const struct paragraph *said, struct attributes *plan)
{
    (void)said;
    (void)plan;
    return true;
}

static bool of_grant(const struct grant *grant, on_pool *on, void *context)
{
    for (const struct holding *holding = grant->holdings; holding != NULL;
         holding = holding->next) {
        const struct pool pool = pool_of(holding->plugin);
        if (!on(&pool, grant, context))
            return false;
    }
    return true;
}

static bool of_line(int plugin, on_pool *on, void *context)
{
    const struct pool pool = pool_of(plugin);
    return on(&pool, NULL, context);
}

static bool of_all(on_pool *on, void *context)
{
    (void)on;
    (void)context;
    return true;
}

static uint64_t amount_in(const struct pool *pool, const struct grant *grant)
{
    for (const struct holding *holding = grant->holdings; holding != NULL; holding = holding->next)
        if (holding->plugin == pool->plugin)
            return plugin_weight(holding->plugin, &holding->claim);
    return 0;
}

static void name(const struct pool *pool, char *text)
{
    snprintf(text, POOL_TEXT, "%s", plugin_line(pool->plugin)->name);
}

static json_t *cpus(const struct pool *pool)
{
    (void)pool;
    return json_null();
}

static char *format(uint64_t value, char *text)
{
    snprintf(text, POOL_TEXT, "%llu", (unsigned long long)value);
    return text;
}

static void overfull(const struct pool *pool, uint64_t promised, char *reason)
{
    char all[POOL_TEXT], used_text[POOL_TEXT];
    snprintf(reason, REASON_BYTES, "%s has a capacity of %s, and %s are promised already",
             plugin_line(pool->plugin)->name, pool->of->format(pool->capacity, all),
             pool->of->format(promised, used_text));
}

#define COUNTED                                                                               \
    .ask = amount_ask, .tell = amount_tell, .take_plan = take_plan, .of_grant = of_grant,     \
    .of_line = of_line, .of_all = of_all, .amount_in = amount_in, .name = name, .cpus = cpus, \
    .overfull = overfull

const struct resource_kind resource_amount = {COUNTED, .format = format};
const struct resource_kind resource_disk = {COUNTED, .format = format_utilization};
