/* Limits of a process by its cgroup (version 2) and the groups above: memory, swap, processes and CPU time. A process is in one group only, so that a move
 * to another group would free it of them. Groups and `root` as in cgroup.h. */
#ifndef RTF_GROUP_LIMITS_H
#define RTF_GROUP_LIMITS_H

#include <stdbool.h>

#include "helper-loop.h"

/* Gives `group`, a child of `parent`, the limits of `from` ("/" and a path) and of the groups above that. Unless `anew`, the group has processes, and keeps its
 * own limits where they are lower. False: *reason. */
bool limits_copy(int root, const char *parent, const char *group, const char *from, bool anew, char reason[static SERVE_REASON]);

#endif
