#include "ledger.h"

#include "background.h"
#include "resource-kinds.h"

/* The amount that the grant takes from the pool; 0 if `grant` is NULL. */
static uint64_t ledger_amount_in(const struct pool *pool, const struct grant *grant)
{
    return grant == NULL ? 0 : pool->of->amount_in(pool, grant);
}

/* Calls `on` for each pool that the grant takes from, until `on` returns false. */
static bool each_pool(const struct grant *grant, on_pool *on, void *context)
{
    return resource_amount.of_grant(grant, on, context) &&
           resource_cpu.of_grant(grant, on, context);
}

/* ---- does it fit? ---- */

uint64_t ledger_left(const struct pool *pool, const struct grant *old)
{
    const uint64_t used = *pool->used - ledger_amount_in(pool, old),
                   most = pool->capacity + pool->slack;
    return used < most ? most - used : 0;
}

struct question {
    const struct grant *old;
    bool line_only;
    char *reason;
};

static bool fits_in(const struct pool *pool, const struct grant *grant, void *context)
{
    const struct question *question = context;
    if ((question->line_only && pool->plugin < 0) ||
        ledger_amount_in(pool, grant) <= ledger_left(pool, question->old))
        return true;
    pool->of->overfull(pool, *pool->used - ledger_amount_in(pool, question->old), question->reason);
    return false;
}

/* True: the grant fits into its pools. The pools of CPU time do not limit a spec with
 * "ignore_admission": true, but the pools of other resources do. */
static bool fits(const struct grant *grant, struct question question)
{
    return resource_amount.of_grant(grant, fits_in, &question) &&
           (grant->spec.ignore_admission || resource_cpu.of_grant(grant, fits_in, &question));
}

bool ledger_fits(const struct grant *grant, const struct grant *old,
                 char reason[static REASON_BYTES])
{
    return fits(grant, (struct question){old, false, reason});
}

bool ledger_fits_line(const struct grant *grant, const struct grant *old,
                      char reason[static REASON_BYTES])
{
    return fits(grant, (struct question){old, true, reason});
}

/* ---- adding and removing ---- */

static struct {
    uint64_t additions, removals;
    /* for each line of plugins.conf, the number of grants without a guarantee; these grants are in
     * no pool's sum */
    int background[PLUGINS_MAX];
} ledger;

uint64_t ledger_additions(void)
{
    return ledger.additions;
}

uint64_t ledger_removals(void)
{
    return ledger.removals;
}

static bool put_in(const struct pool *pool, const struct grant *grant, void *context)
{
    (void)context;
    *pool->used += ledger_amount_in(pool, grant);
    return true;
}

static bool take_out(const struct pool *pool, const struct grant *grant, void *context)
{
    (void)context;
    *pool->used -= ledger_amount_in(pool, grant);
    return true;
}

static void count_background(const struct grant *grant, int by)
{
    for (int plugin = grant_background(grant); plugin != NO_PLUGIN;
         plugin = grant_background_after(grant, plugin))
        ledger.background[plugin] += by;
}

int ledger_background(int plugin)
{
    return ledger.background[plugin];
}

void ledger_add(const struct grant *grant)
{
    ledger.additions++;
    count_background(grant, 1);
    (void)each_pool(grant, put_in, NULL);
}

void ledger_remove(const struct grant *grant)
{
    ledger.removals++;
    count_background(grant, -1);
    (void)each_pool(grant, take_out, NULL);
}

void ledger_as_if(const struct grant *counts, const struct grant * not )
{
    (void)each_pool(not, take_out, NULL);
    (void)each_pool(counts, put_in, NULL);
}

/* ---- accepted claims that are not granted yet ---- */

static bool copy_pool(const struct pool *pool, const struct grant *grant, void *context)
{
    (void)grant;
    *(struct pool *)context = *pool;
    return true;
}

static struct pool ledger_pool_of(const struct holding *holding)
{
    struct pool pool = {0};
    (void)resource_kind_of(holding->plugin)->of_line(holding->plugin, copy_pool, &pool);
    return pool;
}

bool ledger_hold(struct holding *holding, const struct grant *old, uint64_t *left,
                 char reason[static REASON_BYTES])
{
    const struct pool pool = ledger_pool_of(holding);
    const uint64_t has = ledger_amount_in(&pool, old),
                   wants = plugin_weight(holding->plugin, &holding->claim);
    *left = ledger_left(&pool, old);
    if (wants > *left) {
        pool.of->overfull(&pool, *pool.used - has, reason);
        return false;
    }
    holding->ahead = wants > has ? wants - has : 0;
    *pool.used += holding->ahead;
    return true;
}

void ledger_let_go(struct holding *holding)
{
    *ledger_pool_of(holding).used -= holding->ahead;
    holding->ahead = 0;
}

/* ---- lists of pools ---- */

struct listener {
    void (*each)(const struct pool *pool);
    bool used_only;
};

static bool ledger_tell(const struct pool *pool, const struct grant *grant, void *context)
{
    const struct listener *listener = context;
    (void)grant;
    if (!listener->used_only || *pool->used != 0)
        listener->each(pool);
    return true;
}

static void ledger_tell_all(struct listener listener)
{
    for (int plugin = 0; plugin < plugins_count(); plugin++)
        if (plugin_line(plugin)->promises)
            (void)resource_kind_of(plugin)->of_line(plugin, ledger_tell, &listener);
    for (int resource = 0; resource < RESOURCES; resource++)
        (void)resource_kind((enum resource)resource)->of_all(ledger_tell, &listener);
}

void ledger_pools(void (*each)(const struct pool *pool))
{
    ledger_tell_all((struct listener){each, false});
}

void ledger_each(void (*each)(const struct pool *pool))
{
    ledger_tell_all((struct listener){each, true});
}
