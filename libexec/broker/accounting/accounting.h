/* What a grant is booked in: the ledger, the access rules' sums, its plugin and those that share its CPUs, and what of it is not paid back. */
#ifndef RTF_ACCOUNTING_H
#define RTF_ACCOUNTING_H

#include "wish.h"

/* Puts a charged grant into the ledger and makes it the wish's. */
void grant_book(struct wish *wish, struct grant *grant);

/* Takes the wish's grant out of all books and frees it. */
void grant_unbook(struct wish *wish, bool tell_plugin);

#endif
