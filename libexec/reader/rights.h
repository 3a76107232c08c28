/* How a reader comes to have one user's rights over files, and none besides. */
#ifndef RTF_READER_RIGHTS_H
#define RTF_READER_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

/* An inotify instance that counts as one of the user's 128 (fs.inotify.max_user_instances), for root's would not do for a thousand users; or, if
 * he has none left, as one of root's. -1: there is none. */
int rights_inotify(uid_t owner);

/* Enters the directory; files are opened as `owner` from then on (setfsuid(2)), beneath that directory only (landlock(7)). Its own
 * identity is `uid`: so its user can neither signal nor trace it. False with errno. */
bool rights_become(uid_t owner, uid_t uid, gid_t gid, int directory);

#endif
