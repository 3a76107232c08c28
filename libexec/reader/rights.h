/* Gives a reader the rights of one user over files, and no others. */
#ifndef RTF_READER_RIGHTS_H
#define RTF_READER_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

/* Makes an inotify instance that counts against the user's limit (fs.inotify.max_user_instances,
 * 128), because root's limit would not suffice for a thousand users. If the user has reached the
 * limit, the instance counts against root's limit. -1: failure. */
int rights_inotify(uid_t owner);

/* Enters the directory. From then on files are opened as `owner` (setfsuid(2)), and only beneath
 * that directory (landlock(7)). The process's own identity is `uid`, so that the owner can neither
 * signal nor trace the reader. False: errno says why. */
bool rights_become(uid_t owner, uid_t uid, gid_t gid, int directory);

#endif
