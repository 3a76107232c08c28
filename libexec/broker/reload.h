/* The effects of new rules, and of accounts that may have changed, on the grants in force. */
#ifndef RTF_RELOAD_H
#define RTF_RELOAD_H

#include "acl.h"
#include "reservation.h"

/* The new rules hold from now on, and all grants are charged under them. */
void reload_rules(struct acl *acl);

/* Call this after reload_rules. If an owner is no member any more and the rules do not name the
 * owner, the broker takes the owner's grants back, as soon as the account is known
 * (owner_is_known). */
void reload_doubt_owners(void);
void owner_is_known(struct account *account);

#endif
