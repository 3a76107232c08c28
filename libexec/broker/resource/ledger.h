/* The broker's own books, so that a plugin that lies cannot promise more than the administrator set. Integers, exact: after any
 * sequence of grants and releases the sums are zero again. They are kept by pools (pools.h). */
#ifndef RTF_LEDGER_H
#define RTF_LEDGER_H

#include "pools.h"

/* Would the sums hold with `grant` in and `old` (or NULL) out? False: *reason says which does not. */
bool ledger_fits(const struct grant *grant, const struct grant *old, char reason[static REASON_BYTES]);

/* Those of its own plugin, which the plugin has to know itself. */
bool ledger_fits_line(const struct grant *grant, const struct grant *old, char reason[static REASON_BYTES]);

/* What can be had of a pool with `old` (or NULL) out. */
uint64_t ledger_left(const struct pool *pool, const struct grant *old);

void ledger_add(const struct grant *grant);
void ledger_remove(const struct grant *grant);

/* For a moment one grant counts in place of the other: nothing has been added or removed. */
void ledger_as_if(const struct grant *counts, const struct grant *not);

/* What has been accepted of a transaction, and is not granted yet: takes what the pool must hold beyond `old`, or gives it back. False:
 * *reason, and *left is what could be had. */
bool ledger_hold(struct holding *holding, const struct grant *old, uint64_t *left, char reason[static REASON_BYTES]);
void ledger_let_go(struct holding *holding);

/* Calls `each` with every pool that something is promised of, and with those of them that hold something. */
void ledger_pools(void (*each)(const struct pool *pool));
void ledger_each(void (*each)(const struct pool *pool));

/* How many have something of the line without a guarantee. */
int ledger_background(int plugin);

/* How often something has been added and removed. */
uint64_t ledger_additions(void);
uint64_t ledger_removals(void);

#endif
