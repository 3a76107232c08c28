/* The ledger has the broker's own sums of all grants, so that a faulty or hostile plugin cannot
 * promise more than the administrator has allowed. The ledger has one sum for each pool (pools.h).
 * The sums are exact integers: when all grants are released, each sum is zero again. */
#ifndef RTF_LEDGER_H
#define RTF_LEDGER_H

#include "pools.h"

/* True: with `grant` added and `old` (or NULL) removed, no pool's sum is above its capacity.
 * False: *reason names a pool whose sum would be above. */
bool ledger_fits(const struct grant *grant, const struct grant *old,
                 char reason[static REASON_BYTES]);

/* Like ledger_fits, but only for the pools of single lines, which the plugins themselves have to
 * respect; not for pools that lines share. */
bool ledger_fits_line(const struct grant *grant, const struct grant *old,
                      char reason[static REASON_BYTES]);

/* The free part of the pool, as if `old` (or NULL) were removed. */
uint64_t ledger_left(const struct pool *pool, const struct grant *old);

void ledger_add(const struct grant *grant);
void ledger_remove(const struct grant *grant);

/* For a trial (trial.h): `counts` is in the sums in place of `not`, until a second call exchanges
 * them again. ledger_additions and ledger_removals do not count this. */
void ledger_as_if(const struct grant *counts, const struct grant * not );

/* While a spec is judged, adds an accepted claim to its pool's sum, as far as the claim exceeds the
 * claim of the former grant `old`. ledger_let_go removes this amount again. False: the claim does
 * not fit, and *reason says why. *left: the free part of the pool. */
bool ledger_hold(struct holding *holding, const struct grant *old, uint64_t *left,
                 char reason[static REASON_BYTES]);
void ledger_let_go(struct holding *holding);

/* ledger_pools calls `each` for each pool of lines that promise capacity, and for each pool that
 * lines share. ledger_each calls `each` only for those of these pools from which grants take. */
void ledger_pools(void (*each)(const struct pool *pool));
void ledger_each(void (*each)(const struct pool *pool));

/* The number of grants that use the line without a guarantee. */
int ledger_background(int plugin);

/* The number of grants added, and of grants removed, since the broker started. */
uint64_t ledger_additions(void);
uint64_t ledger_removals(void);

#endif
