/* The ledger has the broker's own sums of all grants, so that a faulty or hostile plugin cannot
 * promise more than the administrator has allowed. The ledger has one sum for each pool (pools.h).
 * The sums are exact integers: when all grants are released, each sum is zero again. */
#ifndef RTF_LEDGER_H
#define RTF_LEDGER_H

#include "pools.h"

/* True: with `grant` added and `old` (or NULL) removed, no pool's sum is above its capacity. False:
 * *reason names a pool whose sum would be above its capacity. */
bool ledger_fits(const struct grant *grant, const struct grant *old,
                 char reason[static REASON_BYTES]);

/* Like ledger_fits, but only for the pools of single lines, which the plugins themselves have to
 * respect; pools that several lines share are left out. */
bool ledger_fits_line(const struct grant *grant, const struct grant *old,
                      char reason[static REASON_BYTES]);

/* The free part of the pool, as if `old` (or NULL) were removed. */
uint64_t ledger_left(const struct pool *pool, const struct grant *old);

void ledger_add(const struct grant *grant);
void ledger_remove(const struct grant *grant);

/* For a trial (trial.h): puts `counts` into the sums in place of `not`. A second call with
 * exchanged arguments undoes this. ledger_additions and ledger_removals do not count these
 * calls. */
void ledger_as_if(const struct grant *counts, const struct grant * not );

/* While a spec is judged, adds an accepted claim to its pool's sum, less the amount that the former
 * grant `old` has already. ledger_let_go removes this amount again. False: the claim does not fit,
 * and *reason says why. *left: the free part of the pool. */
bool ledger_hold(struct holding *holding, const struct grant *old, uint64_t *left,
                 char reason[static REASON_BYTES]);
void ledger_let_go(struct holding *holding);

/* ledger_pools calls `each` for each pool of lines that promise capacity, and for each pool that
 * lines share. ledger_each leaves out the pools from which no grant takes. */
void ledger_pools(void (*each)(const struct pool *pool));
void ledger_each(void (*each)(const struct pool *pool));

/* The number of grants without a guarantee (background) on this plugin's line of plugins.conf. */
int ledger_background(int plugin);

/* The number of grants added, and of grants removed, since the broker started. */
uint64_t ledger_additions(void);
uint64_t ledger_removals(void);

#endif
