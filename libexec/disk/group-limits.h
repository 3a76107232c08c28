/* Copies the limits of a process's cgroup (version 2) and of the groups above: memory, swap,
 * processes and CPU time. A process is in one group only, so without the copy a move to another
 * group would free the process from its limits. Groups and `root`: as in cgroup.h. */
#ifndef RTF_GROUP_LIMITS_H
#define RTF_GROUP_LIMITS_H

#include <stdbool.h>

#include "helper-loop.h"

/* Gives `group`, a child of `parent`, the limits of `from` ("/" and a path) and of the groups above
 * `from`. anew: the group has no processes yet; otherwise the group keeps its own limits where they
 * are lower. False: *reason. */
bool limits_copy(int root, const char *parent, const char *group, const char *from, bool anew,
                 char reason[static SERVE_REASON]);

#endif
