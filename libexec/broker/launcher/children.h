/* The launcher's table of the children that run: their processes, their CPU, and how much CPU time
 * each child may use at once. */
#ifndef RTF_CHILDREN_H
#define RTF_CHILDREN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

#include "child.h"

/* Does the work of launcher_add; returns the child's number. */
int children_add(enum child_kind kind, char *const argv[], struct identity_to_run_as as);

bool children_has(int number);
/* The first child of the kind; NULL: none. */
const struct child *children_of_kind(enum child_kind kind);

/* Call this first in the launcher: children may run on the CPUs on which the launcher runs now. */
void children_begin(void);

/* Ends the process of this child, if it runs, and starts a new one. */
void children_start(int number, const int fds[DESCRIPTORS]);
void children_end(int number);
void children_start_reader(int slot, uid_t uid, const int fds[DESCRIPTORS]);
void children_end_reader(int slot);

/* Does the work of launcher_place, for the broker and all children. */
void children_place(int cpu, pid_t broker);

/* Call this when a timer on a child's CPU time has expired. Reports the CPU time of a plugin on
 * `socket`. */
void children_time_used(const struct signalfd_siginfo *info, int socket);

/* Reaps the processes whose end was ordered. A child that ended without an order keeps its process
 * id until the broker has noticed this and orders its end. */
void children_reap(void);

/* Ends all children, and waits for their ends for a second at most. `ended` is SIGCHLD, blocked. */
void children_end_all(const sigset_t *ended);

/* Removes the directory of the children in /run. */
void children_leave(void);

#endif
