/* Copies the limits of a process's cgroup (version 2) and of the groups above: memory, swap,
 * processes and CPU time. A process is in one group only, so without the copy a move to another
 * group would free the process from its limits. Paths of groups and `root` are as in cgroup.h. */
#ifndef RTF_GROUP_LIMITS_H
#define RTF_GROUP_LIMITS_H

#include <stdbool.h>

#include "helper-loop.h"

/* Gives `group`, a child of `parent`, the limits of `from` ("/" and a path) and of the groups above
 * `from`. anew = true: the group has no processes yet. anew = false: each limit of the group that
 * is lower than the limit to copy stays. False: *reason. */
bool limits_copy(int root, const char *parent, const char *group, const char *from, bool anew,
                 char reason[static SERVE_REASON]);

#endif
