/* May the owner of a spec reserve anything here now? Their account has to be known first; then draining, membership and the rules on importance decide. */
#ifndef RTF_OWNER_H
#define RTF_OWNER_H

#include "request.h"

struct account;

/* root, a member of the spool's group, or a user whom acl.conf names. */
bool owner_may_have_something(const struct account *account);

/* DONE: plugins may be asked. owner_look_up: the account is looked up first, where it is not known. */
enum step_result owner_look_up(struct request *request);
enum step_result owner_check(struct request *request);

/* The account is known by now: the next request that has waited for that; NULL: there is none. */
struct request *owner_next_waiting(struct account *account);

/* The answer for a user whom neither the spool's group nor acl.conf names. */
void owner_is_no_member(struct request *request);

/* From now on nothing new begins, or it may again. */
void owner_drain(bool begin);

#endif
