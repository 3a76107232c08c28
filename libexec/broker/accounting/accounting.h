/* The books of a grant: the ledger, the sums of the access rules, its plugins and the plugins that
 * share its CPUs, and debts. */
#ifndef RTF_ACCOUNTING_H
#define RTF_ACCOUNTING_H

#include "acl.h"
#include "reservation.h"

/* Books a grant of an earlier broker: charges it, adds it to the ledger, tells its plugins, and
 * makes it the reservation's. */
void grant_book(struct reservation *reservation, struct grant *grant);

/* Takes the reservation's grant out of all books, and frees it. */
void grant_unbook(struct reservation *reservation, bool tell_plugin);

/* Replaces the reservation's grant. `grant` is known to its CPU plugin, and its charges and
 * holdings are held. Returns the old grant (or NULL), which the caller keeps until the change
 * cannot be undone; *debt is the part of the old grant that is not paid back (debts.h). */
struct grant *grant_rebook(struct reservation *reservation, struct grant *grant, uint64_t *debt);

/* The kernel has refused the change: puts `old` back into all books. False: other grants have taken
 * the place of `old`, and the reservation has no grant. Takes `old` over in both cases. */
bool grant_roll_back(struct reservation *reservation, struct grant *old, uint64_t debt);

/* Replaces the reservation's grant by `less`, a smaller copy without charges. No plugin can refuse
 * this. */
void grant_lessen(struct reservation *reservation, struct grant *less);

/* Charges the grant under these rules. The charge under earlier rules is forgotten, not given
 * back. */
void grant_charge(struct acl *acl, const struct account *account, struct grant *grant);

/* A plugin has booked a plan that the broker does not grant: the plugin gets its old plan back. */
void grant_forget_plan(const struct reservation *reservation, int plugin);

#endif
