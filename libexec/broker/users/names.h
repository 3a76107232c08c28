/* Accounts: the name and the groups of a uid. rtf-names asks the account database, so that a slow
 * directory server delays only users whose account is not known yet. */
#ifndef RTF_NAMES_H
#define RTF_NAMES_H

#include "account.h"
#include "launcher.h"

/* Tells the launcher about the program, before the launcher is forked. `known` is called for each
 * account that was asked for, when its answer or its failure is there. */
void names_prepare(char *path, struct identity_to_run_as as,
                   void (*known)(struct account *account));

/* False: the program cannot be started. */
bool names_start(void);

/* True: all questions have answers. Without `all`, questions of account_ready_last do not count. */
bool names_are_settled(bool all);
struct account *account_find(uid_t uid);

/* The number of known accounts. An account that nothing holds may be freed at the next
 * account_find: a user with a range of uids (user_namespaces(7)) cannot fill the memory. */
unsigned accounts_known(void);
void account_hold(struct account *account);
void account_let_go(struct account *account);

/* True: the account is known (or its question failed), and the answer is newer than /etc/passwd and
 * /etc/group and at most ten seconds old. False: the database has been asked, and `known` is called
 * later. */
bool account_ready(struct account *account);

/* The same, but the database is asked only while few other questions wait: a user may have any
 * number of uids, and a directory server may take milliseconds for each. */
bool account_ready_last(struct account *account);

/* Asks whether NAME or @NAME of acl.conf exists. The answer is only a warning in the log. */
void names_warn_unknown(const char *name);

bool account_has_gid(const struct account *account, gid_t gid);

/* The account that counts for the limits: all uids without an account share one, because 65,536
 * subordinate uids may be one user. reservations.c excepts uids that acl.conf names. */
struct account *account_bucket(struct account *account);

#endif
