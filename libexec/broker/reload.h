/* The effects of new rules, and of accounts that may have changed, on the grants in force. */
#ifndef RTF_RELOAD_H
#define RTF_RELOAD_H

#include "acl.h"
#include "reservation.h"

/* Makes the new rules the valid rules, and charges all grants under these rules. */
void reload_rules(struct acl *acl);

/* Call this after reload_rules. If an owner is no member of the broker's group any more and no rule
 * names the owner, the broker takes the owner's grants back. If the broker first has to ask the
 * account database about an owner, owner_is_known decides when the answer comes. */
void reload_doubt_owners(void);
void owner_is_known(struct account *account);

#endif
