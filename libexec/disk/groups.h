/* What a process may have of a disk: a cgroup for each reservation, beneath one that has the weight 1000 beside 1 of everything else. In it a
 * reservation has the share of its claim as its weight, and may read, and write, a quarter more than it asked for, in bytes and in blocks: exactly so
 * much would make it late, and without a bound one that is greedy takes the others' time.
 *
 * Everything else means what is in the root, where each process would be a rival of its own: that goes into a group, too, but for the kernel's
 * threads; and the other groups there get the weight 1 on this disk, those that have none of their own.
 *
 * Where a process came from stands on its reservation's group, as an extended attribute: it is there before the process is. So does, before anybody
 * leaves it, that a group is to go: one that could not be emptied is nobody else's, though rtf-disk is another by then. */
#ifndef RTF_GROUPS_H
#define RTF_GROUPS_H

#include "cgroup.h"
#include "way.h"

/* Finds the hierarchy. False: *reason. *mount is where it is. */
bool groups_open(char mount[static GROUP_BYTES], char reason[static SERVE_REASON]);

/* Whether each group is a cpuset, too: then some kernels require CAP_SYS_NICE to move a process that has capabilities which the mover lacks. */
bool groups_are_cpusets(void);

/* A thread's process belongs to its class's group, if it is its user's own in all its threads; with whom it starts later. What goes, goes back to where the
 * first process came from; a group whose processes cannot all be moved stays until they have ended, without a weight. */
extern const struct way by_groups;

#endif
