/* Who a uid is: its account name and groups, asked from the account database through rtf-names, so that a
 * slow directory server makes only those wait whose account is not known yet. */
#ifndef RTF_NAMES_H
#define RTF_NAMES_H

#include "account.h"
#include "launcher.h"

/* Before the launcher is forked: tells it about the program. Accounts that were asked for, and are known or failed, are passed on. */
void names_prepare(char *path, struct identity_to_run_as as, void (*known)(struct account *account));

/* False: it could not be started. */
bool names_start(void);

/* Whether every question has been answered; unless `all`, those of account_ready_last do not count. */
bool names_are_settled(bool all);
struct account *account_find(uid_t uid);

/* One that nothing holds may be gone at the next account_find: whoever can make up uids (user namespaces) does not fill the memory. */
unsigned accounts_known(void);
void account_hold(struct account *account);
void account_let_go(struct account *account);

/* True: the account is known (or failed) and not older than /etc/passwd, /etc/group and ten seconds. False:
 * it has been asked for, and will be passed on. */
bool account_ready(struct account *account);

/* The same, but it is asked for only while few other questions wait: a user can make up any number of uids, and a directory server may take milliseconds for
 * each. */
bool account_ready_last(struct account *account);

/* Asks whether acl.conf's NAME or @NAME exists; the answer is only a warning in the log. */
void names_warn_unknown(const char *name);

bool account_has_gid(const struct account *account, gid_t gid);

/* uids without an account share one: 65,536 subordinate uids are one stranger. (A uid that acl.conf names is
 * none; reservations.c sees to that.) */
struct account *account_bucket(struct account *account);


#endif
