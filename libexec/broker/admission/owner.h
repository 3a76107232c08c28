/* Checks whether the owner of a spec may reserve anything now. The broker first needs the account
 * of the owner. Then it checks that the administrator has not drained the spool, that the owner is
 * a member of the spool's group or is named by acl.conf, and that the rules allow the importance
 * and the extras of the spec. */
#ifndef RTF_OWNER_H
#define RTF_OWNER_H

#include "request.h"

struct account;

/* True: the account is root, is a member of the spool's group, or is named by acl.conf. */
bool owner_may_have_something(const struct account *account);

/* Both functions check the owner. DONE: plugins may be asked. If the account is not known yet,
 * owner_look_up first makes the request wait. */
enum step_result owner_look_up(struct request *request);
enum step_result owner_check(struct request *request);

/* Call this when the account is known. Takes the next request that has waited for the account;
 * NULL: no request waits for the account. */
struct request *owner_next_waiting(struct account *account);

/* Refuses the request of a user who is not a member of the spool's group and is not named by
 * acl.conf. */
void owner_is_no_member(struct request *request);

/* true: from now on the broker refuses new specs and changes (draining). false: the broker serves
 * new specs and changes again. */
void owner_drain(bool begin);

#endif
