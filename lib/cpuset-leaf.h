/* Threads in a domain (cpuset-domains.h). Each attached thread has a cgroup of its own there, its leaf: rtf-N/tTID.START. What
 * it starts stays in that, and is taken out with it. */
#ifndef RTF_CPUSET_LEAF_H
#define RTF_CPUSET_LEAF_H

#include "cgroup.h"
#include "apply-result.h"
#include "thread.h"

enum { LEAF_NAME = 64 };

/* The leaf in the domain of `cpu` that is this thread's; "" for cpu -1. */
const char *leaf_of(char leaf[static LEAF_NAME], const struct identity *identity, int cpu);

/* The leaf that a thread is in, "" for none. */
void leaf_find(char leaf[static LEAF_NAME], pid_t tid);

/* Moves a thread into its leaf in the domain of `cpu`; with cgroup version 2 its whole process, which must have one
 * thread unless `whole_process`. Not to be called for a thread in the real-time class: the kernel loses the bandwidth of a
 * SCHED_DEADLINE thread that is moved. */
enum apply_result leaf_enter(const struct identity *identity, int cpu, bool whole_process, char reason[static APPLY_REASON]);

/* Takes a thread out of a leaf, and all that is in it with it, to `group`, or as near to that as still exists; the leaf is
 * removed. Only the thread, or with version 2 its process, if another one there is real-time. */
enum apply_result leaf_leave(const struct identity *identity, const char *leaf, const char *group, bool whole_process,
                         char reason[static APPLY_REASON]);

/* The same for the leaf of a thread that has ended, wherever it is. */
void leaf_sweep(const struct identity *identity, const char *group);

#endif
