/* Moves threads into and out of a domain (cpuset-domains.h). Each attached thread has a cgroup of
 * its own in the domain, its leaf: rtf-N/tTID.START. Threads and processes that the thread starts
 * are in the same leaf, and leave the leaf together with the thread. */
#ifndef RTF_CPUSET_LEAF_H
#define RTF_CPUSET_LEAF_H

#include "cgroup.h"
#include "apply-result.h"
#include "thread.h"

enum { LEAF_NAME = 64 };

/* Writes the name of this thread's leaf in the domain of `cpu`; "" if cpu is -1. Returns `leaf`. */
const char *leaf_of(char leaf[static LEAF_NAME], const struct identity *identity, int cpu);

/* Writes the name of the leaf that the thread is in, its own or another thread's; "" if the thread
 * is in no leaf. */
void leaf_find(char leaf[static LEAF_NAME], pid_t tid);

/* Moves the thread into its leaf in the domain of `cpu`. With cgroup version 2 the thread's whole
 * process moves. If `whole_process` is false, the function refuses a process with more than one
 * thread. Do not call this for a real-time thread: the kernel loses the bandwidth of a
 * SCHED_DEADLINE thread that is moved. */
enum apply_result leaf_enter(const struct identity *identity, int cpu, bool whole_process,
                             char reason[static APPLY_REASON]);

/* Moves the thread and all other members of `leaf` to `group`, or to the nearest existing group
 * above `group`, and removes the leaf. If another member of the leaf is real-time, the leaf stays,
 * and only the thread moves (with version 2: the thread's whole process). */
enum apply_result leaf_leave(const struct identity *identity, const char *leaf, const char *group,
                             bool whole_process, char reason[static APPLY_REASON]);

/* For a thread that has ended: moves the members of the thread's leaves in all domains to `group`,
 * and removes these leaves. */
void leaf_sweep(const struct identity *identity, const char *group);

#endif
