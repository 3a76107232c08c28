/* A pool is a capacity that the grants share: the part of a CPU that a line of plugins.conf has, a
 * whole CPU, or the capacity of a line of another resource. The grants of a pool must not take more
 * than its capacity. The functions of the resource say how much a grant takes from which pools
 * (resource-kinds.h). The ledger has the sums. */
#ifndef RTF_POOLS_H
#define RTF_POOLS_H

#include "reservation.h"

struct resource_kind;

/* cpu == -1: the pool belongs to no single CPU. plugin == -1: several lines share the pool. The
 * unit is the resource's unit; for CPU time a billionth of a CPU. */
struct pool {
    const struct resource_kind *of;
    int plugin, cpu;
    uint64_t capacity;
    /* the sum may exceed the capacity by this much, because plugins add exact fractions, but the
     * ledger rounds each fraction up */
    uint64_t slack;
    uint64_t *used;
};

/* True: the caller goes on with the next pool. */
typedef bool on_pool(const struct pool *pool, const struct grant *grant, void *context);

#endif
