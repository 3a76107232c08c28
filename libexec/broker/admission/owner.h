/* Checks whether the owner of a spec may reserve anything now. The account of the owner must be
 * known first. Then these decide: draining, the membership in the spool's group, and the rules on
 * importance and extras. */
#ifndef RTF_OWNER_H
#define RTF_OWNER_H

#include "request.h"

struct account;

/* True: the account is root, is a member of the spool's group, or is named by acl.conf. */
bool owner_may_have_something(const struct account *account);

/* Check the owner. DONE: plugins may be asked. _look_up first makes the request wait if the account
 * is not known yet. */
enum step_result owner_look_up(struct request *request);
enum step_result owner_check(struct request *request);

/* Call this when the account is known. Takes the next request that has waited for the account;
 * NULL: no request has. */
struct request *owner_next_waiting(struct account *account);

/* Refuses the request of a user who is no member of the spool's group, and whom acl.conf does not
 * name. */
void owner_is_no_member(struct request *request);

/* begin: from now on the broker refuses new specs and changes (draining). Otherwise the broker
 * serves new specs and changes again. */
void owner_drain(bool begin);

#endif
