/* The broker's own sums of all grants: a plugin that lies cannot promise more than the
 * administrator has set. The sums are integers and exact: after any sequence of grants and releases
 * they are zero again. Each sum is that of a pool (pools.h). */
#ifndef RTF_LEDGER_H
#define RTF_LEDGER_H

#include "pools.h"

/* True: all sums fit with `grant` added and `old` (or NULL) removed. False: *reason names a sum
 * that does not fit. */
bool ledger_fits(const struct grant *grant, const struct grant *old,
                 char reason[static REASON_BYTES]);

/* The same for the pools of the grant's own line only, which its plugin has to keep itself. */
bool ledger_fits_line(const struct grant *grant, const struct grant *old,
                      char reason[static REASON_BYTES]);

/* The free part of a pool with `old` (or NULL) removed. */
uint64_t ledger_left(const struct pool *pool, const struct grant *old);

void ledger_add(const struct grant *grant);
void ledger_remove(const struct grant *grant);

/* For a trial, one grant counts in place of the other. Nothing is added or removed. */
void ledger_as_if(const struct grant *counts, const struct grant * not );

/* Holds an accepted claim of a transaction that is not granted yet: the hold is what the pool needs
 * beyond `old`. ledger_let_go ends the hold. False: *reason says why, and *left is what is free. */
bool ledger_hold(struct holding *holding, const struct grant *old, uint64_t *left,
                 char reason[static REASON_BYTES]);
void ledger_let_go(struct holding *holding);

/* Calls `each` for each pool with promises; and for each pool that holds a claim. */
void ledger_pools(void (*each)(const struct pool *pool));
void ledger_each(void (*each)(const struct pool *pool));

/* How many grants use the line without a guarantee. */
int ledger_background(int plugin);

/* How many grants have been added and removed since the start. */
uint64_t ledger_additions(void);
uint64_t ledger_removals(void);

#endif
