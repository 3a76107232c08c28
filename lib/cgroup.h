/* The machine's CPUs, and the hierarchies of cgroups that hand out them (cpuset) and disks (blkio): where a thread stands in one, and the
 * files of a group. */
#ifndef RTF_CGROUP_H
#define RTF_CGROUP_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/* CPU 0 alone when the kernel does not tell. */
void online_cpus(cpu_set_t *cpus);

/* V1: a hierarchy of its own, thread by thread. V2: the unified one, process by process. */
enum cgroups { CGROUPS_NONE, CGROUPS_V1, CGROUPS_V2 };

enum { GROUP_BYTES = 2048 }; /* of a path below the mount, with its end; it has to fit a paragraph */

/* Which of them this machine has for "cpuset" or "blkio" (io in version 2), and where it is mounted. */
enum cgroups cgroups_find(const char *controller, char mount[static GROUP_BYTES]);

/* The path below the mount of that hierarchy, "/" for the root. False with errno; EILSEQ or ENAMETOOLONG when the path is none that
 * can be written down. */
bool thread_group(enum cgroups cgroups, const char *controller, pid_t tid, char group[static GROUP_BYTES]);

/* The value of a group's file, its first line. `path` is below `root`, a descriptor of the mount; "." is the root
 * itself. Each false with errno. */
bool group_read(int root, const char *path, const char *file, char *value, size_t size);
bool group_write(int root, const char *path, const char *file, const char *value);

/* Moves all members of a group to another, and the processes that members start meanwhile. Returns false with ETIMEDOUT after 0.3 s. A process that is
 * ending cannot be moved, and is a member until it has ended: group_empty waits as long for it, but only a moment if it needs no CPU, and then returns false
 * with EINPROGRESS. The kernel may allow to remove a group that has only such members. */
bool group_empty(enum cgroups cgroups, int root, const char *path, const char *to);

/* The same, to `group` ("/" is the root), or to the nearest one above it if that is gone. Returns false with ENOENT if that is the root. With version 2 a group that
 * has controllers for its children takes no processes itself, and gets a child for them: what limits the one limits the
 * other. If its owner has spoilt the group, the processes go to its parent, provided that the parent has the same owner: the limits of a user are set on the topmost
 * group that the user owns, and no process leaves that one. */
bool group_return(enum cgroups cgroups, int root, const char *path, const char *group);

#endif
