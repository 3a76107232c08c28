/* An account has the name and the groups of a uid. A process of its own, rtf-names, asks the
 * account database (/etc/passwd and /etc/group, or a directory server), so that a slow directory
 * server delays only users whose account is not known yet. */
#ifndef RTF_NAMES_H
#define RTF_NAMES_H

#include "account.h"
#include "launcher.h"

/* Tells the launcher about rtf-names. Call this before the launcher is forked. `known` is called
 * for each account about which rtf-names was asked, when the answer has come or the question has
 * failed. */
void names_prepare(char *path, struct identity_to_run_as as,
                   void (*known)(struct account *account));

/* False: rtf-names cannot be started. */
bool names_start(void);

/* True: all questions have been answered or have failed. Without `all`, questions of
 * account_ready_last do not count. */
bool names_are_settled(bool all);
struct account *account_find(uid_t uid);

/* accounts_known: the number of accounts in memory. account_find may free each account that is not
 * held (account_hold), so that a user with a range of uids (user_namespaces(7)) cannot fill the
 * memory. */
unsigned accounts_known(void);
void account_hold(struct account *account);
void account_let_go(struct account *account);

/* True: the account is known, the files /etc/passwd and /etc/group have not changed since the
 * database was asked, and the answer is at most ten seconds old. False: a question to the database
 * is under way, and `known` is called later. */
bool account_ready(struct account *account);

/* Like account_ready, but the question waits until fewer than 8 questions are under way, because a
 * user may have any number of uids, and a directory server may take milliseconds for each uid. */
bool account_ready_last(struct account *account);

/* Asks the database whether the user or group that acl.conf names as NAME or @NAME exists. If not,
 * the log gets a warning. */
void names_warn_unknown(const char *name);

bool account_has_gid(const struct account *account, gid_t gid);

/* Returns the account whose limits count: for uids that the database does not know, one common
 * account, because 65,536 subordinate uids may belong to a single user. In reservations.c, uids
 * that acl.conf names have limits of their own. */
struct account *account_bucket(struct account *account);

#endif
