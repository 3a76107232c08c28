/* Makes the members of a process's group (lib/process-budget.h) ordinary and real-time together,
 * except the first thread of the process, which is guarded like any single thread
 * (guarded-threads.h). A member that runs as another user, in a program with set-user-ID, shares
 * the runtime, but is never made real-time: see process_group_resume. Members are real-time with
 * reset-on-fork, so a thread that they start is ordinary until the kernel's record of the start has
 * woken the guard. */
#ifndef RTF_PROCESS_GROUP_H
#define RTF_PROCESS_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "thread.h"

/* Takes over the cgroup hierarchy that the launcher has opened, and returns its descriptor. -1:
 * errno says why. */
int process_groups_open(void);

struct process_group;

/* Opens the group of the process. The members may use the one CPU of granted->cpus. On each other
 * CPU a counter notices members that their owner has moved there, as soon as they have used 1 ms,
 * or `runtime` (ns) if it is less. NULL: errno says why. */
struct process_group *process_group_open(pid_t process, uint64_t started_by, uid_t owner,
                                         const struct attributes *granted, int64_t runtime);
void process_group_close(struct process_group *group);

/* True: the thread is a member. */
bool process_group_has(const struct process_group *group, pid_t tid);

/* Calls `wait_on` for each counter and, with `starts`, for the event that records started threads
 * (budget_starts_open), whose descriptor process_group_starts returns. False: a call failed. */
bool process_group_wait(const struct process_group *group,
                        bool (*wait_on)(int fd, int64_t as, bool starts), int64_t as);
int process_group_starts(const struct process_group *group);

/* process_group_used returns the CPU time, in ns, that members have used on CPUs that they may not
 * use: the sum of the counters. process_group_count starts (on) or stops the counters. */
int64_t process_group_used(const struct process_group *group);
void process_group_count(const struct process_group *group, bool on);

/* process_group_suspend makes all members ordinary, including members that are started meanwhile.
 * Two kinds of member stay as they are: a member with SCHED_DEADLINE, which has a reservation of
 * its own; and a member that runs as another user, with another policy or a higher priority than
 * granted, because only a privileged process can have set these. After all members are ordinary,
 * calls `suspended` (NULL: nothing) for each member except the first thread. process_group_resume
 * gives the members the granted policy, priority and CPU, except members with SCHED_DEADLINE or uids
 * of others. False: there are more than PROCESS_MEMBERS_MAX members, and no member is made real-time, because
 * suspending so many would take the guard too long. */
void process_group_suspend(struct process_group *group, void (*suspended)(pid_t tid));
bool process_group_resume(struct process_group *group);

/* Lowers the priority of the members with this priority (thread-rank.h), except the first thread,
 * by one. Members of priority 1 become ordinary. awake: lowers members that do not sleep, too.
 * process_group_raise restores the members. Both return true if some are lowered. */
bool process_group_lower(struct process_group *group, int priority, bool awake);
bool process_group_raise(struct process_group *group);

/* Makes the sleeping members with this priority (thread-rank.h), except the first thread, ordinary
 * and then real-time again, one after the other. Stops when is_over(about) is true while a member
 * is ordinary. A sleeping member does not notice the change. awake: tries members that do not
 * sleep, too. False: is_over(about) was true for no member. */
bool process_group_try(const struct process_group *group, int priority, bool awake,
                       bool (*is_over)(pid_t), pid_t about);

/* True: process_group_resume has left members ordinary because an earlier call had not found them
 * yet. The caller calls process_group_resume again later. */
bool process_group_has_new(const struct process_group *group);

/* The number of members when process_group_suspend or process_group_resume was last called. */
int64_t process_group_size(const struct process_group *group);

#endif
