/* Checks the thread that a spec or a NAME.tid names. Is this the thread that the owner means? May
 * the owner have this thread attached? */
#ifndef RTF_TARGET_THREAD_H
#define RTF_TARGET_THREAD_H

#include "request.h"

/* Returns the thread `tid`, to be attached; NULL: the answer says why it cannot be attached. The
 * thread must belong to the owner of the directory. It must not be younger than the file that names
 * it, because a file older than the thread means an earlier thread with this id, which has
 * ended. */
struct attachment *target_thread(struct request *request, pid_t tid, bool by_file);

/* Sets *group to the cpuset group to which the thread returns when it is detached. The caller frees
 * *group. NULL: no line of plugins.conf uses scheduling domains, so no thread changes its group.
 * False: errno says why. */
bool target_group(pid_t tid, char **group);

#endif
