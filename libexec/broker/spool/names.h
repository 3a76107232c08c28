/* Who a uid is: its account name and groups, asked from the account database through rtf-names, so that a
 * slow directory server makes only those wait whose account is not known yet. */
#ifndef RTF_NAMES_H
#define RTF_NAMES_H

#include "account.h"
#include "starter.h"

/* Before the starter is forked: tells it about the program. */
void names_prepare(char *path, struct identity_to_run_as as);

/* False: it could not be started. */
bool names_restart(void);
struct account *account_find(uid_t uid);

/* One that nothing holds may be gone at the next account_find: whoever can make up uids (user namespaces) does not fill the memory. */
unsigned accounts_known(void);
void account_hold(struct account *account);
void account_let_go(struct account *account);

/* True: the account is known (or failed) and not older than /etc/passwd, /etc/group and ten seconds. False:
 * it has been asked for; names_receive will return it. */
bool account_ready(struct account *account);

/* Asks whether acl.conf's NAME or @NAME exists; the answer is only a warning in the log. */
void names_warn_unknown(const char *name);

/* Reads what the coprocess answered; called until it returns NULL. *alive is false when it is gone: the
 * accounts it owed are failed, and returned one by one. */
struct account *names_receive(bool *alive);
void names_read(bool *alive);
void names_writable(void);

/* When the oldest question has waited too long; INT64_MAX. */
int64_t names_deadline(void);

/* Starts it again when its pause is over. */
void names_expire(int64_t now);

bool account_has_gid(const struct account *account, gid_t gid);

/* uids without an account share one: 65,536 subordinate uids are one stranger. (A uid that acl.conf names is
 * none; wishes.c sees to that.) */
struct account *account_bucket(struct account *account);


#endif
