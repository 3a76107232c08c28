/* What a grant is booked in: the ledger, the access rules' sums, its plugins and those that share its CPUs, and what of it is not paid back. */
#ifndef RTF_ACCOUNTING_H
#define RTF_ACCOUNTING_H

#include "acl.h"
#include "reservation.h"

/* Charges a grant of before, puts it into the ledger, tells its plugins, and makes it the reservation's. */
void grant_book(struct reservation *reservation, struct grant *grant);

/* Takes the reservation's grant out of all books and frees it. */
void grant_unbook(struct reservation *reservation, bool tell_plugin);

/* `grant`, which its CPUs' plugin knows and for which charges and holdings are held, takes the place of the reservation's. Returns that one
 * (or NULL), which the caller keeps until nothing can undo this; *debt is what of it is not paid back (debts.h). */
struct grant *grant_rebook(struct reservation *reservation, struct grant *grant, uint64_t *debt);

/* The kernel refuses it: back to `old` in all books. False when its place has been taken meanwhile: then nothing is left. Takes `old` over. */
bool grant_roll_back(struct reservation *reservation, struct grant *old, uint64_t debt);

/* `less`, a copy with less of what it has, without charges, takes the place of the reservation's. Nobody has to agree. */
void grant_lessen(struct reservation *reservation, struct grant *less);

/* Charges it under these rules; of those that it was charged under before nothing is given back. */
void grant_charge(struct acl *acl, const struct account *account, struct grant *grant);

/* A plugin holds a plan that will not be: back to what it had. */
void grant_forget_plan(const struct reservation *reservation, int plugin);

#endif
