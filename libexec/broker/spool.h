/* The spool itself, and users' directories in it. */
#ifndef RTF_SPOOL_H
#define RTF_SPOOL_H

#include "wish.h"

/* The open directories of the spool. */
struct spool {
    char path[200]; /* as far as it is printable: for people, and to tell one broker from another */
    int root, specs, log, state, stage, alive;
    gid_t group;
};

extern struct spool spool;

/* Makes what is missing, with its owners and modes (spool/manifest), opens it, and locks state/ against a
 * second broker. False: *reason. The lock's descriptor is returned for the helper, which shares it: the next
 * broker starts when both are gone. */
bool spool_open(const char *path, gid_t group, int *lock, char reason[static REASON_BYTES]);

/* Only state/, of a spool that is there, with the lock. 1; 0: there is none; -1: *reason. */
int spool_open_state(const char *path, int *lock, char reason[static REASON_BYTES]);

/* Only now can clients see that a broker is there. */
bool spool_announce(char reason[static REASON_BYTES]);

/* ---- directories ---- */

/* Opens specs/NAME. NULL: it is not a directory, or not there; *uid is the owner of what is there and
 * *is_directory what it is; !*exists with another errno than ENOENT: it could not be looked at. The user is watched and
 * entered, not adopted. */
struct user *spool_user_open(const char *name, uid_t *uid, bool *is_directory, bool *exists);
struct user *spool_user_find(const char *name);
void spool_user_close(struct user *user);

/* Its directory is gone or moved away: nothing is in it any more. It is closed when its wishes are. */
void spool_user_leave(struct user *user);
struct user *spool_users(void);

/* Mode 2700 and the spool's group, whatever it was. */
void spool_user_adopt(struct user *user);

/* Renames what stands in specs/ under a name that is not its owner's, so that it keeps nobody out. */
bool spool_move_aside(const char *name, uid_t uid);

#endif
