/* Attaches all threads of a process, which share one runtime (lib/process-budget.h). The attach
 * helper makes only the first thread real-time, with reset-on-fork, as for any grant. After an
 * execve(2) the broker recognizes the first thread by this flag. The guard makes the other threads
 * real-time, and bounds them all. The functions here move the threads into the group of the
 * process, and later give them their former attributes back.
 *
 * A record in RUN_DIRECTORY for each such process has the former attributes of the threads that the
 * process had when it was attached. The record is written before any thread is changed, and
 * outlives the helper. A thread that was started later gets the former attributes of the first
 * thread. */
#ifndef RTF_PROCESS_ATTACH_H
#define RTF_PROCESS_ATTACH_H

#include <stdbool.h>

#include "process-budget.h"
#include "scheduling.h"

/* Takes over the cgroup hierarchy that the launcher has opened, and returns its descriptor. -1: the
 * launcher has opened none, or `wanted` is false. */
int process_attach_open(bool wanted);

/* Moves the process whose first thread is `target` into the group of the process, and bounds the
 * group. Returns the counter of budget_group_bound. Does no harm if the process is in the group
 * already. *done other than APPLY_DONE: the return value is -1, and *reason is the refusal. */
int process_attach(const struct target *target, const struct process_budget *budget,
                   enum apply_result *done, char reason[static APPLY_REASON]);

/* process_restore gives all members of the group except the first thread their recorded former
 * attributes, or, if a member has no record, `first`, the former attributes of the first thread.
 * with_first: the member that has the id of the first thread gets `first`, too. The first thread
 * may have ended: after an execve(2) by another thread, that thread has its id. process_remove then
 * removes the group. Call both only when no guard acts on the group any more. */
void process_restore(const struct target *target, const struct attributes *first, bool with_first);
void process_remove(const struct target *target);

#endif
