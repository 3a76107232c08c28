/* One runtime for all threads of a process: what counts and bounds them together.
 *
 * The threads are in a cgroup of their own, a group, in the perf_event hierarchy of cgroup version
 * 1. This hierarchy only counts. A service manager does not look at it, and no other limit depends
 * on it. The mount of the hierarchy is in no namespace, and ends
 * with its descriptors. The hierarchy lives on as long as it has a group, so a group
 * survives these programs, and the next ones find it. Threads and processes that members start are
 * members. Only root can write into the hierarchy, so no user can take a thread out of its group.
 *
 * A perf event of the group on a CPU becomes readable each time the members have used one more
 * runtime there. Then the guard makes all members ordinary until the next period
 * (libexec/guard/process-group.h).
 *
 * This header is the seam for kernels that bound a group themselves (cpu.rt_runtime_us of
 * RT_GROUP_SCHED, cpu.rt.max of HCBS): such a kernel takes the runtime in budget_group_make, and
 * needs no events and no guard. */
#ifndef RTF_PROCESS_BUDGET_H
#define RTF_PROCESS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "run-directory.h"

/* The program that bounds runtimes of processes on this machine, for rtf-doctor(1). */
#define PROCESS_BUDGET_BACKEND "rtf-guard"

/* The launcher opens the hierarchy, which needs CAP_SYS_ADMIN, and passes it to the attach helper
 * and the guard as this descriptor. */
enum { BUDGET_GROUP_BYTES = 48, BUDGET_HIERARCHY = 4 };

/* Opens the root of the hierarchy. -1 with errno. budget_hierarchy_got returns BUDGET_HIERARCHY, or
 * -1 with errno. */
int budget_hierarchy_open(void);
int budget_hierarchy_got(void);

/* True if a process may be left in a group: it has a record (libexec/attach/process-attach.h). */
#define BUDGET_RECORDS RUN_DIRECTORY "/rtf-"
bool budget_record_is_left(void);

/* The name of the group of a process, by its first thread (thread.h). */
void budget_group_name(pid_t process, uint64_t started_by, char name[static BUDGET_GROUP_BYTES]);

/* Makes the group if it does not exist, and moves the process with all its threads into it. The
 * caller owns the descriptor of the group. -1 with errno. */
int budget_group_make(int hierarchy, const char *name, pid_t process);

/* -1 with errno: ENOENT if there is no such group. */
int budget_group_open(int hierarchy, const char *name);

/* The ids of all members, threads, in an array that the caller frees. -1 with errno. */
ssize_t budget_group_members(int group, pid_t **tids);

/* Moves all members to the root, and removes the group. False with errno. */
bool budget_group_remove(int hierarchy, const char *name);

/* Opens an event that becomes readable each time the members have had `nanoseconds` more of this
 * CPU, between PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE; the caller maps two pages, see
 * task-events.h. budget_starts_open: each time a member starts a thread or process on this CPU.
 * -1 with errno. */
int budget_counter_open(int group, int cpu, uint64_t nanoseconds);
int budget_starts_open(int group, int cpu);

#endif
