/* A pool is something of which only so much may be promised: one line's share of a CPU, all of a CPU, all that a line has of another resource.
 * What a grant takes of which pools says the resource (resource-kinds.h); the ledger adds it up. */
#ifndef RTF_POOLS_H
#define RTF_POOLS_H

#include "reservation.h"

struct resource_kind;

/* `cpu` is -1 where the pool is not of one CPU, `plugin` where it is of all lines. Values are in the resource's unit: CPU time in billionths of
 * a CPU. */
struct pool {
    const struct resource_kind *of;
    int plugin, cpu;
    uint64_t capacity;
    uint64_t slack; /* beyond the capacity, for what plugins add up exactly and the ledger rounded */
    uint64_t *used;
};

/* Says whether to go on with the next one. */
typedef bool on_pool(const struct pool *pool, const struct grant *grant, void *context);

#endif
