#include "desired-amounts.h"

#include <stdlib.h>

#include "grants.h"
#include "ledger.h"
#include "memory.h"
#include "resource-cpu.h"
#include "spec.h"
#include "units.h"

/* The reservations that desire more than they need. */
static struct {
    TAILQ_HEAD(, reservation) list;
    size_t count;
} desiring = {.list = TAILQ_HEAD_INITIALIZER(desiring.list)};

/* ---- which reservations desire more than they need ---- */

/* True only for a grant that the ledger counts and that has to pass the admission test: other
 * grants take no spare capacity from the pools. */
bool desired_amounts_cpu_time(const struct grant *grant)
{
    const struct spec *spec = &grant->spec;
    return cpu_weight(grant) != 0 && !plugin_line(grant->plugin)->keeps_desired &&
           spec->desired_runtime > spec->runtime && spec->runtime != 0 && !spec->ignore_admission;
}

bool desired_amounts_more_of(const struct holding *holding)
{
    return !plugin_line(holding->plugin)->keeps_desired &&
           claim_desired(&holding->claim) > claim_least(&holding->claim);
}

static size_t number_of(const struct grant *grant)
{
    size_t number = grant != NULL && desired_amounts_cpu_time(grant);
    for (const struct holding *holding = grant == NULL ? NULL : grant->holdings; holding != NULL;
         holding = holding->next)
        number += desired_amounts_more_of(holding);
    return number;
}

void desired_amounts_follow(struct reservation *reservation)
{
    const bool does = number_of(reservation->grant) != 0;
    if (does == reservation->desires)
        return;
    reservation->desires = does;
    desiring.count += does ? 1 : (size_t)-1;
    if (does)
        TAILQ_INSERT_TAIL(&desiring.list, reservation, of_desires);
    else
        TAILQ_REMOVE(&desiring.list, reservation, of_desires);
}

size_t desired_amounts_count(void)
{
    return desiring.count;
}

struct reservation *desired_amounts_first(void)
{
    return TAILQ_FIRST(&desiring.list);
}

/* ---- the desire of one grant for one resource ---- */

static bool take_first(const struct pool *pool, const struct grant *grant, void *context)
{
    (void)grant;
    *(struct pool *)context = *pool;
    return false;
}

static struct desire desire_in(struct reservation *reservation, enum resource resource,
                               const struct pool *pool)
{
    const struct spec *spec = &reservation->grant->spec;
    return (struct desire){.reservation = reservation,
                           .resource = resource,
                           .pool = pool->used,
                           .importance = (uint64_t)spec->importance,
                           .weight = (uint64_t)spec_weight(spec),
                           .room = *pool->used < pool->capacity ? pool->capacity - *pool->used : 0};
}

static struct desire of_cpu(struct reservation *reservation)
{
    struct grant *grant = reservation->grant;
    const uint64_t window = cpu_window(grant);
    struct pool pool;
    (void)resource_cpu.of_grant(grant, take_first, &pool);
    struct desire desire = desire_in(reservation, RESOURCE_CPU, &pool);
    desire.least = utilization(grant->spec.runtime, window);
    desire.most = utilization(grant->spec.desired_runtime, window);
    desire.now = cpu_weight(grant);
    return desire;
}

static uint64_t weight_of(const struct holding *holding, uint64_t first)
{
    struct claim claim = holding->claim;
    claim.values[0] = first;
    return plugin_weight(holding->plugin, &claim);
}

static struct desire of_holding(struct reservation *reservation, const struct holding *holding)
{
    struct pool pool;
    (void)resource_kind_of(holding->plugin)->of_line(holding->plugin, take_first, &pool);
    struct desire desire = desire_in(reservation, holding->claim.resource, &pool);
    desire.least = weight_of(holding, claim_least(&holding->claim));
    desire.most = weight_of(holding, claim_desired(&holding->claim));
    desire.now = weight_of(holding, holding->claim.values[0]);
    return desire;
}

struct holding *desire_holding(const struct desire *desire)
{
    struct holding *holding =
        desire->resource == RESOURCE_CPU ? NULL : desire->reservation->grant->holdings;
    while (holding != NULL && holding->claim.resource != desire->resource)
        holding = holding->next;
    return holding;
}

size_t desired_amounts_list(struct desire **desires)
{
    struct reservation *reservation;
    size_t count = 0;
    *desires = allocate((desiring.count * RESOURCES + 1) * sizeof **desires);
    TAILQ_FOREACH (reservation, &desiring.list, of_desires) {
        if (desired_amounts_cpu_time(reservation->grant))
            (*desires)[count++] = of_cpu(reservation);
        for (const struct holding *holding = reservation->grant->holdings; holding != NULL;
             holding = holding->next)
            if (desired_amounts_more_of(holding))
                (*desires)[count++] = of_holding(reservation, holding);
    }
    return count;
}

/* ---- sharing out ---- */

static int order_of(uint64_t one, uint64_t other)
{
    return one < other ? -1 : one > other;
}

/* Orders desires by pool, then by importance, the most important first. Equally important desires
 * are ordered by their missing capacity (most - least) for each unit of weight, the smallest
 * first. */
static int desired_amounts_compare(const void *first, const void *second)
{
    const struct desire *one = first, *other = second;
    if (one->pool != other->pool)
        return order_of((uintptr_t)one->pool, (uintptr_t)other->pool);
    if (one->importance != other->importance)
        return order_of(other->importance, one->importance);
    const unsigned __int128 ones = (unsigned __int128)(one->most - one->least) * other->weight,
                            others = (unsigned __int128)(other->most - other->least) * one->weight;
    return ones < others ? -1 : ones > others;
}

static bool are_equals(const struct desire *one, const struct desire *other)
{
    return one->pool == other->pool && one->importance == other->importance;
}

/* One pass in the order of desired_amounts_compare is enough: if one reservation gets less than it
 * desires, all later reservations get less than they desire, too. Returns the capacity that is
 * left. */
static uint64_t share_among_equals(struct desire *desires, size_t count, uint64_t room)
{
    uint64_t weights = 0;
    for (size_t i = 0; i < count; i++)
        weights += desires[i].weight;
    for (size_t i = 0; i < count; i++) {
        const uint64_t part = (uint64_t)((unsigned __int128)room * desires[i].weight / weights),
                       wants = desires[i].most - desires[i].least;
        const uint64_t gets = part < wants ? part : wants;
        desires[i].aim = desires[i].least + gets;
        room -= gets;
        weights -= desires[i].weight;
    }
    return room;
}

static void share_pool(struct desire *desires, size_t count)
{
    uint64_t room = desires[0].room;
    for (size_t i = 0; i < count; i++)
        room += desires[i].now - desires[i].least;
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && are_equals(&desires[first], &desires[next]);)
            next++;
        room = share_among_equals(desires + first, next - first, room);
    }
}

void desired_amounts_share_out(struct desire *desires, size_t count)
{
    qsort(desires, count, sizeof *desires, desired_amounts_compare);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && desires[next].pool == desires[first].pool;)
            next++;
        share_pool(desires + first, next - first);
    }
}
