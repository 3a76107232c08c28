/* One runtime for all threads of a process: counts and bounds the CPU time of these threads
 * together.
 *
 * The threads are in a cgroup of their own, a group, in the perf_event hierarchy of cgroup version
 * 1. This hierarchy only counts, service managers ignore it, and no other limit depends on it. The
 * hierarchy is mounted in no namespace, and the mount ends with its last descriptor. The hierarchy
 * lives on as long as it has a group, so a group survives the programs of the broker, and the next
 * broker's programs find the group. Threads and processes that members start are members, too. Only
 * root can write into the hierarchy, so no user can take a thread out of its group.
 *
 * A perf event of the group on a CPU becomes readable each time the members have used one more
 * runtime there. Then the guard makes all members ordinary until the next period
 * (libexec/guard/process-group.h).
 *
 * This header is the seam for kernels that bound a group themselves (cpu.rt_runtime_us of
 * RT_GROUP_SCHED, cpu.rt.max of HCBS): for such a kernel budget_group_make would set the runtime,
 * without events and without a guard. */
#ifndef RTF_PROCESS_BUDGET_H
#define RTF_PROCESS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run-directory.h"

/* The launcher opens the hierarchy, which needs CAP_SYS_ADMIN, and passes it to the attach helper
 * and the guard as this descriptor. */
enum { BUDGET_GROUP_BYTES = 48, BUDGET_HIERARCHY = 4 };

/* Opens the root of the hierarchy. -1 with errno. budget_hierarchy_got returns BUDGET_HIERARCHY, or
 * -1 with errno. */
int budget_hierarchy_open(void);
int budget_hierarchy_got(void);

/* True if some process may still be in a group: a record of a process exists
 * (libexec/attach/process-attach.h). */
#define BUDGET_RECORDS RUN_DIRECTORY "/rtf-"
bool budget_record_is_left(void);

/* Writes the name of the group of a process, from the identity of the process's first thread
 * (thread.h). */
void budget_group_name(pid_t process, uint64_t started_by, char name[static BUDGET_GROUP_BYTES]);

/* Makes the group if it does not exist, and moves the process with all its threads into it. The
 * caller owns the descriptor of the group. -1 with errno. */
int budget_group_make(int hierarchy, const char *name, pid_t process);

/* Opens an existing group. -1 with errno: ENOENT if there is no such group. */
int budget_group_open(int hierarchy, const char *name);

/* Returns the number of members, and their thread ids in an array that the caller frees. -1 with
 * errno. */
ssize_t budget_group_members(int group, pid_t **tids);

/* Moves all members to the root, and removes the group. False with errno. */
bool budget_group_remove(int hierarchy, const char *name);

/* Opens an event that becomes readable each time the members have had `nanoseconds` more of this
 * CPU, counted between PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE. The caller maps two pages,
 * see task-events.h. The event of budget_starts_open becomes readable each time a member starts a
 * thread or process on this CPU. -1 with errno. */
int budget_counter_open(int group, int cpu, uint64_t nanoseconds);
int budget_starts_open(int group, int cpu);

#endif
