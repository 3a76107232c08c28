/* New rules, and accounts that may have changed: what they mean for what is granted already. */
#ifndef RTF_RELOAD_H
#define RTF_RELOAD_H

#include "acl.h"
#include "reservation.h"

/* They hold from now on, and everything that was granted under the old ones is charged under
 * them. */
void reload_rules(struct acl *acl);

/* After that: what is granted to who is no member any more, nor named by the rules, is taken back,
 * as soon as that is known (owner_is_known). */
void reload_doubt_owners(void);
void owner_is_known(struct account *account);

#endif
