/* The effects of new rules, and of accounts that may have changed, on the grants in force. */
#ifndef RTF_RELOAD_H
#define RTF_RELOAD_H

#include "acl.h"
#include "reservation.h"

/* The new rules hold from now on, and all grants are charged under them. */
void reload_rules(struct acl *acl);

/* Call this after reload_rules. If an owner is no member of the broker's group any more and no rule
 * names the owner, the broker takes the owner's grants back. An account that has to be asked for
 * first is judged in owner_is_known. */
void reload_doubt_owners(void);
void owner_is_known(struct account *account);

#endif
