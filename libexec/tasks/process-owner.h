/* Finds the owner of a process, because a user may watch only processes of their own. */
#ifndef RTF_PROCESS_OWNER_H
#define RTF_PROCESS_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* NULL: this user may watch the process, and *started is its start (CLOCK_REALTIME, ns). Else the
 * reason. */
const char *not_to_be_watched(pid_t pid, uid_t uid, int64_t *started);

/* Reads uid and gid of the process into *status. False: there is no such process. */
bool look_at_owner(pid_t pid, struct stat *status);

#endif
