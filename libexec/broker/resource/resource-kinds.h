/* The functions of each resource: one table for CPU time, whose plans say where and how a thread
 * runs, and one for resources with amounts. The rest of the broker handles grants without knowing
 * the resource. A new resource is an entry in lib/resource.c and an entry here. */
#ifndef RTF_RESOURCE_KINDS_H
#define RTF_RESOURCE_KINDS_H

#include <jansson.h>

#include "paragraph.h"
#include "plugin-lines.h"
#include "pools.h"

enum { POOL_TEXT = 128 };

struct resource_kind {
    /* rtf-plugin(7): the question (op=accept) and the grant (op=schedule) as the plugin gets them;
     * and the plan in the plugin's ok. False: the plan has the wrong form. */
    void (*ask)(struct paragraph_output *output, int plugin, const struct spec *spec,
                uint64_t most);
    void (*tell)(struct paragraph_output *output, int plugin, const struct grant *grant);
    bool (*take_plan)(const struct paragraph *said, struct attributes *plan);

    /* The pools that a grant takes from; all pools of a line; the pools that lines share. False:
     * `on` has returned false. */
    bool (*of_grant)(const struct grant *grant, on_pool *on, void *context);
    bool (*of_line)(int plugin, on_pool *on, void *context);
    bool (*of_all)(on_pool *on, void *context);
    uint64_t (*amount_in)(const struct pool *pool, const struct grant *grant);

    /* For people. `name` and the text of format have POOL_TEXT bytes; the reason of overfull has
     * REASON_BYTES. */
    void (*name)(const struct pool *pool, char *text);
    json_t *(*cpus)(const struct pool *pool);
    char *(*format)(uint64_t value, char *text);
    void (*overfull)(const struct pool *pool, uint64_t used, char *reason);
};

extern const struct resource_kind resource_cpu, resource_amount, resource_disk;

const struct resource_kind *resource_kind(enum resource resource);
const struct resource_kind *resource_kind_of(int plugin);

#endif
