#include "lessened-grant.h"

#include "desired-amounts.h"
#include "memory.h"
#include "plugin-lines.h"
#include "resource-cpu.h"
#include "spec.h"

struct claim claim_with(const struct claim *of, uint64_t first)
{
    struct claim claim = *of;
    claim.least = claim_least(of);
    claim.values[0] = first;
    if (claim.least == first)
        claim.least = 0;
    return claim;
}

static struct holding *copy_holdings(const struct holding *from)
{
    struct holding *first = NULL, **last = &first;
    for (; from != NULL; from = from->next) {
        struct holding *holding = allocate(sizeof *holding);
        *holding = *from;
        holding->charge = (struct charge){0};
        holding->ahead = 0;
        holding->next = NULL;
        *last = holding;
        last = &holding->next;
    }
    return first;
}

static struct grant *copy(const struct grant *grant)
{
    struct grant *less = allocate(sizeof *less);
    *less = *grant;
    less->spec = spec_copy(&grant->spec);
    less->charge = (struct charge){0};
    less->holdings = copy_holdings(grant->holdings);
    return less;
}

static struct grant *lower(struct grant *grant)
{
    for (struct holding *holding = grant->holdings; holding != NULL; holding = holding->next)
        if (holding->aim < holding->claim.values[0])
            holding->claim = claim_with(&holding->claim, holding->aim);
    if (grant->aim < grant->plan.runtime)
        grant->plan.runtime = grant->aim;
    grant->utilization = cpu_utilization(grant);
    return grant;
}

struct grant *grant_within_aims(const struct grant *grant)
{
    return lower(copy(grant));
}

struct grant *grant_at_least(const struct grant *grant)
{
    struct grant *least = copy(grant);
    least->aim = desired_amounts_cpu_time(grant) ? grant->spec.runtime : grant->plan.runtime;
    for (struct holding *holding = least->holdings; holding != NULL; holding = holding->next)
        holding->aim = desired_amounts_more_of(holding) ? claim_least(&holding->claim)
                                                        : holding->claim.values[0];
    return lower(least);
}
