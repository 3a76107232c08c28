/* Divides a disk with cgroups. Each reservation has a group below a group with the weight 1000. All
 * other groups have the weight 1. The weight of a reservation's group is the share of its claim. A
 * reservation's group may read, and write, a quarter more bytes and blocks than claimed. A limit of
 * exactly the claim would make the reservation late. Without a limit, a greedy reservation would
 * take the time of other reservations.
 *
 * Each process in the root group would compete with the groups as if it were a group of its own. So
 * all processes of the root, except kernel threads, go into one group of their own. Other groups in
 * the root get the weight 1 on this disk, unless they have a weight of their own.
 *
 * A reservation's group has extended attributes. One attribute names the group from which the first
 * process came, and is written before that process moves. Another attribute says that the group is
 * to be removed, and is written before a process leaves. So a group that could not be emptied is
 * not given to another reservation, even after rtf-disk was restarted. */
#ifndef RTF_GROUPS_H
#define RTF_GROUPS_H

#include "cgroup.h"
#include "way.h"

/* Finds the cgroup hierarchy and its mount point. False: *reason. */
bool groups_open(char mount[static GROUP_BYTES], char reason[static SERVE_REASON]);

/* True if each group also is a cpuset. Then some kernels require CAP_SYS_NICE of rtf-disk, to move
 * a process that has capabilities which rtf-disk lacks. */
bool groups_are_cpusets(void);

/* Moves the process of an attached thread into the group of the reservation's class, if all threads
 * of the process belong to the user. Later children of the process start in this group. At the end
 * the processes go back to the group from which the first process came. A group whose processes
 * cannot all be moved loses its weight, and stays until these processes have ended. */
extern const struct way by_groups;

#endif
