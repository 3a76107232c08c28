/* Enters grants into the books, and takes grants out of the books. The books of a grant are the
 * ledger, the sums of the access rules, the debts, and what plugins know of the grant: its own
 * plugins, and the plugins that share its CPUs. */
#ifndef RTF_ACCOUNTING_H
#define RTF_ACCOUNTING_H

#include "acl.h"
#include "reservation.h"

/* Enters a grant of an earlier broker into all books: charges the grant, adds it to the ledger,
 * tells plugins of it, and makes it the reservation's grant. */
void grant_book(struct reservation *reservation, struct grant *grant);

/* Takes the reservation's grant out of all books, and frees the grant. tell_plugin: the plugins of
 * the grant are told to release the grant, too. */
void grant_unbook(struct reservation *reservation, bool tell_plugin);

/* Replaces the reservation's grant. The CPU plugin must know the new grant already. The sums of the
 * access rules must have the charges of the new grant already, and the ledger must hold its claims
 * (ledger_hold). Returns the old grant (or NULL), which the caller keeps until the change cannot be
 * undone. *debt is the task number of the debt for the part of the old grant that is not paid back
 * (debt_keep). */
struct grant *grant_rebook(struct reservation *reservation, struct grant *grant, uint64_t *debt);

/* Call this when the kernel has refused the change. Enters `old` into all books again. False: other
 * grants have taken the capacity of `old`, and the reservation has no grant. In both cases the
 * function takes over the memory of `old`. */
bool grant_roll_back(struct reservation *reservation, struct grant *old, uint64_t debt);

/* Replaces the reservation's grant by `less`, a smaller copy of the grant without charges. No
 * plugin can refuse this change. */
void grant_lessen(struct reservation *reservation, struct grant *less);

/* Charges the grant under the rules `acl`. A charge under earlier rules is forgotten without
 * subtracting it, because the counters of the earlier rules end. */
void grant_charge(struct acl *acl, const struct account *account, struct grant *grant);

/* Call this when the plugin has taken a plan into its books, but the broker does not grant the
 * plan. The plugin gets the plan of the present grant again. */
void grant_forget_plan(const struct reservation *reservation, int plugin);

#endif
