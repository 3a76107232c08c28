/* Finds the machine's CPUs, and the cgroup hierarchies of the controllers cpuset (CPUs) and blkio
 * (disks). Finds the group of a thread, reads and writes the files of a group, and moves the
 * members of a group to another group. */
#ifndef RTF_CGROUP_H
#define RTF_CGROUP_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* The CPUs that are online; CPU 0 alone if the kernel's list cannot be read. */
void online_cpus(cpu_set_t *cpus);

/* CGROUPS_V1: each controller has its own hierarchy, and the members of a group are threads.
 * CGROUPS_V2: all controllers share one hierarchy, and the members of a group are processes. */
enum cgroups { CGROUPS_NONE, CGROUPS_V1, CGROUPS_V2 };

/* The size of a path below the mount, with its final zero. The path must fit into a paragraph
 * (paragraph.h). */
enum { GROUP_BYTES = 2048 };

/* Finds the hierarchy for "cpuset" or "blkio" (called io in version 2) on this machine, and its
 * mount point. */
enum cgroups cgroups_find(const char *controller, char mount[static GROUP_BYTES]);

/* Writes the path of the thread's group below the mount; "/" is the root. False: an error that
 * errno names; EILSEQ or ENAMETOOLONG: the path cannot be written into a paragraph. */
bool thread_group(enum cgroups cgroups, const char *controller, pid_t tid,
                  char group[static GROUP_BYTES]);

/* group_read reads the first line of a file of a group, and group_write writes such a file. root: a
 * descriptor of the mount. path: the path of the group below the mount; "." is the root group.
 * False: errno says why. */
bool group_read(int root, const char *path, const char *file, char *value, size_t size);
bool group_write(int root, const char *path, const char *file, const char *value);

/* Moves all members of a group to another group, including processes that members start meanwhile.
 * False with ETIMEDOUT after 0.3 s. The kernel cannot move a process that is ending: such a process
 * stays a member until its end. So group_empty waits for ending processes. The wait takes up to 0.3
 * s, but only 40 ms while no ending process runs or waits for a CPU. If ending processes are left,
 * group_empty returns false with EINPROGRESS. The caller may then try to remove the group, because
 * the kernel may allow the removal of a group whose members are all ending. */
bool group_empty(enum cgroups cgroups, int root, const char *path, const char *to);

/* Like group_empty, but tries for `patience` ns instead of 0.3 s. */
bool group_empty_within(enum cgroups cgroups, int root, const char *path, const char *to,
                        int64_t patience);

/* Like group_empty, but moves the members to `group` ("/" is the root). If `group` does not exist,
 * moves them to the nearest existing group above `group`. False with ENOENT if only the root exists
 * above `group`.
 *
 * In version 2, a group that has controllers for its children takes no processes itself. Then the
 * processes go to a child of `group`, which has the same limits as `group`.
 *
 * If `group` refuses the processes because its owner has made it unusable, the processes go to the
 * parent of `group`, but only if the parent has the same owner. The reason: the limits of a user
 * are set on the topmost group that the user owns, and no process may leave this topmost group. */
bool group_return(enum cgroups cgroups, int root, const char *path, const char *group);

#endif
