/* One runtime for all threads of a process: counts and bounds the CPU time of these threads
 * together.
 *
 * The threads are in a cgroup of their own, a group. Threads and processes that members start are
 * members, too. Nobody but root may own a group of the hierarchy, so no user can take a thread out
 * of its group.
 *
 * The functions in the first part of this header do not depend on the mechanism that bounds a
 * group. process-budget.c has the only mechanism so far. Its groups are in the perf_event hierarchy
 * of cgroup version 1. This hierarchy only counts, service managers ignore it, and no other limit
 * depends on it. The hierarchy is mounted in no mount namespace, and the mount ends when its last
 * descriptor is closed. The hierarchy lives on as long as it has a group, so a group survives the
 * programs of the broker, and the next broker's programs find the group. A perf event of the group
 * on a CPU becomes readable each time the members have used one more runtime on this CPU. Then
 * rtf-guard makes all members ordinary until the next period (libexec/guard/process-group.h).
 *
 * Where the kernel bounds groups itself, another file with the functions of the first part can take
 * the place of process-budget.c:
 *
 *     RT_GROUP_SCHED   The hierarchy is that of the cpu controller of version 1. budget_group_bound
 *                      writes the period to cpu.rt_period_us and the runtime to cpu.rt_runtime_us.
 *                      The runtime is for each CPU, and the parent must have it to give.
 *     HCBS             The hierarchy is version 2. budget_group_bound writes "RUNTIME PERIOD" to
 *                      cpu.rt.max. Linux 7.1 has no such file yet; patches for it are discussed.
 *
 * If such a file takes the place of process-budget.c, groups need no guard, and no other program of
 * rtf changes. rtf-doctor(1) says what the kernel has (libexec/front/doctor/process-budget.sh). */
#ifndef RTF_PROCESS_BUDGET_H
#define RTF_PROCESS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run-directory.h"

/* ---- for any mechanism ---- */

/* BUDGET_HIERARCHY: the number of a descriptor. The launcher opens the hierarchy, which needs
 * CAP_SYS_ADMIN, and passes it to the attach helper and the guard as this descriptor. */
enum { BUDGET_GROUP_BYTES = 48, BUDGET_HIERARCHY = 4 };

/* The members of a group may use `runtime` of one CPU in each `period`, us. */
struct process_budget {
    int cpu;
    uint64_t runtime, period;
};

/* The largest number of members of a group. More members would take the attach helper and the guard
 * too long, because these two programs serve all users. */
enum { PROCESS_MEMBERS_MAX = 512 };

/* Opens the root of the hierarchy. -1: errno says why. budget_hierarchy_got returns
 * BUDGET_HIERARCHY if the launcher has passed this descriptor, or -1: errno says why. */
int budget_hierarchy_open(void);
int budget_hierarchy_got(void);

/* True if only root can move threads between the groups. If a user owned a group, they could move
 * their threads into this group, and so out of the group that bounds the threads. */
bool budget_hierarchy_is_roots(int hierarchy);

/* True if some process may still be in a group, because the attach helper has left a record of a
 * process (libexec/attach/process-attach.h). */
#define BUDGET_RECORDS RUN_DIRECTORY "/rtf-"
bool budget_record_is_left(void);

/* Writes the name of the group of a process, from the identity of the process's first thread
 * (thread.h). */
void budget_group_name(pid_t process, uint64_t started_by, char name[static BUDGET_GROUP_BYTES]);

/* Makes the group if it does not exist, and moves the process with all its threads into it. The
 * caller owns the descriptor of the group. -1: errno says why. */
int budget_group_make(int hierarchy, const char *name, pid_t process);

/* Bounds the CPU time of the members, and replaces an earlier bound. *counter: a descriptor that
 * becomes readable each time the members together have used budget->runtime more of budget->cpu.
 * Then the guard has to act. The caller owns the descriptor. *counter = -1: the kernel itself
 * bounds the group, and needs no guard. False: errno says why. */
bool budget_group_bound(int group, const struct process_budget *budget, int *counter);

/* Opens an existing group. -1 with errno: ENOENT if there is no such group. */
int budget_group_open(int hierarchy, const char *name);

/* Returns the number of members, and their thread ids in an array that the caller frees. -1: errno
 * says why. */
ssize_t budget_group_members(int group, pid_t **tids);

/* Moves all members to the root, and removes the group. False with errno: a member that is ending
 * may keep the group (EBUSY). */
bool budget_group_remove(int hierarchy, const char *name);

/* Removes groups of processes that have ended. Such a group is left over if members were still
 * ending when budget_group_remove tried to remove it. Calls `gone` for each removed group. */
void budget_groups_sweep(int hierarchy, void (*gone)(const char *name));

/* ---- only for the guard ---- */

/* Opens an event that becomes readable each time the members together have used `nanoseconds` more
 * of this CPU, counted between PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE. The caller maps
 * two pages, see task-events.h. The event of budget_starts_open becomes readable each time a member
 * starts a thread or process on this CPU. -1: errno says why. */
int budget_counter_open(int group, int cpu, uint64_t nanoseconds);
int budget_starts_open(int group, int cpu);

#endif
