/* All threads of a process, for a runtime that they share (lib/process-budget.h). The attach helper
 * makes only the first thread real-time, as for any grant: its reset-on-fork is the mark that the
 * broker knows it by after an execve(2). The guard makes all others real-time, and bounds them.
 * Here they are moved into their group, and get back what they were.
 *
 * A file in RUN_DIRECTORY for each such process has the former attributes of the threads that it
 * had. It is written before anything is changed, and outlives the helper. A thread that was started
 * later gets the former attributes of the first thread. */
#ifndef RTF_PROCESS_ATTACH_H
#define RTF_PROCESS_ATTACH_H

#include <stdbool.h>

#include "scheduling.h"

/* Takes the hierarchy that the launcher has opened, and returns it. -1: there is none, or it is not
 * wanted. */
int process_attach_open(bool wanted);

/* Moves the process of its first thread `target` into its group, and opens the counter of the group
 * on this CPU: as cpu_budget_open in task-events.h. Does no harm if the process is there already.
 * -1 with *done and the reason. */
int process_attach(const struct target *target, int cpu, uint64_t microseconds,
                   enum apply_result *done, char reason[static APPLY_REASON]);

/* Gives all members of the group except the first thread what they were, or what `first` was.
 * process_remove then removes the group. No guard may act on the group any more. */
void process_restore(const struct target *target, const struct attributes *first);
void process_remove(const struct target *target);

#endif
