/* Whether the owner of a spec may reserve anything here now. The owner's account must be known
 * first. Then draining, membership and the rules on importance decide. */
#ifndef RTF_OWNER_H
#define RTF_OWNER_H

#include "request.h"

struct account;

/* True for root, for a member of the spool's group, and for a user whom acl.conf names. */
bool owner_may_have_something(const struct account *account);

/* DONE: plugins may be asked. _look_up: if the account is not known, the request waits for the
 * account. */
enum step_result owner_look_up(struct request *request);
enum step_result owner_check(struct request *request);

/* The account is known now: takes the next request that has waited for the account; NULL: there is
 * none. */
struct request *owner_next_waiting(struct account *account);

/* Answers a user who is no member of the spool's group, and whom acl.conf does not name. */
void owner_is_no_member(struct request *request);

/* begin: from now on the broker refuses new specs and changes. Otherwise the broker serves them
 * again. */
void owner_drain(bool begin);

#endif
