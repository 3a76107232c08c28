/* The broker's own books of CPUs, so that a plugin that lies cannot promise more than the administrator set:
 * per plugin line and CPU, threshold=; over all lines and per CPU, one CPU. Integers, exact: after any
 * sequence of grants and releases the sums are zero again.
 *
 * A plan on several CPUs weighs fully on each of them, except under partition=global, where the kernel
 * balances one sum over the whole domain. A plan without a runtime weighs nothing, nor does one of a plugin
 * that tests nothing and has no threshold=: nothing is promised. */
#ifndef RTF_LEDGER_H
#define RTF_LEDGER_H

#include "plugins.h"
#include "wish.h"

/* Is this plan one that the plugin may make for this spec? False: *reason names what is not its own. */
bool plan_is_its_own(int plugin, const struct spec *spec, uint64_t max_runtime, const struct attributes *plan,
                     char reason[static REASON_BYTES]);

/* Would the sums hold with `grant` in and `old` (or NULL) out? False: *reason says which does not. */
bool ledger_fits(const struct grant *grant, const struct grant *old, char reason[static REASON_BYTES]);

/* Those of its own plugin, which the plugin has to know itself. */
bool ledger_fits_line(const struct grant *grant, const struct grant *old, char reason[static REASON_BYTES]);

/* The largest runtime, all else equal, with which all sums would hold. */
uint64_t ledger_room(const struct grant *grant, const struct grant *old);

void ledger_add(const struct grant *grant);
void ledger_remove(const struct grant *grant);

/* What a grant weighs in its line's sums, and in those of all lines of a CPU. */
uint64_t ledger_weight(const struct grant *grant);
uint64_t ledger_rate(const struct grant *grant);

/* Calls `each` with every sum that is not zero: plugin -1 is all lines, CPU -1 is all of a global one. */
void ledger_each(void (*each)(int plugin, int cpu, uint64_t sum));

/* What can be promised, and what of it is: of the CPUs of a global line together, of one CPU by another line, and of such a CPU by all. Lines
 * that promise nothing have none. */
struct pool {
    int plugin, cpu; /* -1: all of them */
    uint64_t capacity, used;
};
void ledger_pools(void (*each)(const struct pool *pool));

/* How often something has been added and removed. */
uint64_t ledger_additions(void);
uint64_t ledger_removals(void);

#endif
