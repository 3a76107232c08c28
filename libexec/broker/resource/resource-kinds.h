/* The functions of each resource: a table for CPU time, whose plans say where and how a thread
 * runs, and tables for resources with amounts. With these tables, the rest of the broker handles a
 * grant without knowing the resource. A new resource needs an entry in lib/resource.c and an entry
 * in resource-kinds.c. */
#ifndef RTF_RESOURCE_KINDS_H
#define RTF_RESOURCE_KINDS_H

#include <jansson.h>

#include "paragraph.h"
#include "plugin-lines.h"
#include "pools.h"

enum { POOL_TEXT = 128 };

struct resource_kind {
    /* Messages of rtf-plugin(7). `ask` writes the lines of the question (op=accept); `tell` writes
     * the lines of the grant (op=schedule). `take_plan` reads the plan from the plugin's ok. False:
     * the plan has the wrong form. */
    void (*ask)(struct paragraph_output *output, int plugin, const struct spec *spec,
                uint64_t most);
    void (*tell)(struct paragraph_output *output, int plugin, const struct grant *grant);
    bool (*take_plan)(const struct paragraph *said, struct attributes *plan);

    /* Call `on` for each pool that a grant takes from; for each pool of a line; for each pool that
     * lines share. False: `on` has returned false. */
    bool (*of_grant)(const struct grant *grant, on_pool *on, void *context);
    bool (*of_line)(int plugin, on_pool *on, void *context);
    bool (*of_all)(on_pool *on, void *context);
    uint64_t (*amount_in)(const struct pool *pool, const struct grant *grant);

    /* Texts about a pool for people and programs. The texts of `name` and `format` have POOL_TEXT
     * bytes; the reason of `overfull` has REASON_BYTES. */
    void (*name)(const struct pool *pool, char *text);
    json_t *(*cpus)(const struct pool *pool);
    char *(*format)(uint64_t value, char *text);
    void (*overfull)(const struct pool *pool, uint64_t used, char *reason);
};

extern const struct resource_kind resource_cpu, resource_amount, resource_disk;

const struct resource_kind *resource_kind(enum resource resource);
const struct resource_kind *resource_kind_of(int plugin);

#endif
