/* What the broker does for each resource: one table of functions for CPU time, whose plans say where and how a thread runs, and one for whatever is
 * counted and no more. All else in the broker handles grants without knowing what of; what a thread is made by a grant of CPU time is in
 * activation/. A new resource is an entry in lib/resource.c, and one here. */
#ifndef RTF_RESOURCE_KINDS_H
#define RTF_RESOURCE_KINDS_H

#include <jansson.h>

#include "paragraph.h"
#include "plugin-lines.h"
#include "pools.h"

enum { POOL_TEXT = 128 };

struct resource_kind {
    /* rtf-plugin(7): what a plugin is asked (op=accept) and told of its part of a grant (op=schedule); and the plan in its yes. False: that has
     * not the form. */
    void (*ask)(struct paragraph_output *output, int plugin, const struct spec *spec, uint64_t most);
    void (*tell)(struct paragraph_output *output, int plugin, const struct grant *grant);
    bool (*take_plan)(const struct paragraph *said, struct attributes *plan);

    /* The pools that a grant takes something of; all of a line; and those of no line alone. False: `on` said so. */
    bool (*of_grant)(const struct grant *grant, on_pool *on, void *context);
    bool (*of_line)(int plugin, on_pool *on, void *context);
    bool (*of_all)(on_pool *on, void *context);
    uint64_t (*amount_in)(const struct pool *pool, const struct grant *grant);

    /* For people. `name` is of POOL_TEXT bytes, and so is what format writes; overfull's reason of REASON_BYTES. */
    void (*name)(const struct pool *pool, char *text);
    json_t *(*cpus)(const struct pool *pool);
    char *(*format)(uint64_t value, char *text);
    void (*overfull)(const struct pool *pool, uint64_t used, char *reason);
};

extern const struct resource_kind resource_cpu, resource_amount, resource_disk;

const struct resource_kind *resource_kind(enum resource resource);
const struct resource_kind *resource_kind_of(int plugin);

#endif
