/* A pool is an amount of which only so much may be promised: a line's share of a CPU, a whole CPU,
 * the capacity of a line of another resource. The resource says what a grant takes of which pools
 * (resource-kinds.h), and the ledger has the sums. */
#ifndef RTF_POOLS_H
#define RTF_POOLS_H

#include "reservation.h"

struct resource_kind;

/* `cpu` is -1: a pool of no single CPU. `plugin` is -1: a pool that lines share. Values have the
 * resource's unit; for CPU time billionths of a CPU. */
struct pool {
    const struct resource_kind *of;
    int plugin, cpu;
    uint64_t capacity;
    /* beyond the capacity: plugins add exact fractions, and the ledger rounds each one up */
    uint64_t slack;
    uint64_t *used;
};

/* Returns whether to go on with the next pool. */
typedef bool on_pool(const struct pool *pool, const struct grant *grant, void *context);

#endif
