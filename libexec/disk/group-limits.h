/* What limits a process in its cgroup of version 2, and in those above: memory, swap, processes and CPU time. It is in one group only, and would be out of all that in
 * another. Groups and `root` as in cgroup.h. */
#ifndef RTF_GROUP_LIMITS_H
#define RTF_GROUP_LIMITS_H

#include <stdbool.h>

#include "serve.h"

/* `group`, which is below `parent`, limits its processes at least as much as `from` ("/" and a path). `anew`: and no more than that, for nobody is in it; else
 * it keeps what is less. False: *reason. */
bool limits_copy(int root, const char *parent, const char *group, const char *from, bool anew, char reason[static SERVE_REASON]);

#endif
