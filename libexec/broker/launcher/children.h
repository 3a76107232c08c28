/* The children that run, in the launcher: which process each is, on which CPU, and how much CPU time it may use at once. */
#ifndef RTF_CHILDREN_H
#define RTF_CHILDREN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

#include "child.h"

/* As launcher_add: its number. */
int children_add(enum child_kind kind, char *const argv[], struct identity_to_run_as as);

bool children_has(int number);
const struct child *children_of_kind(enum child_kind kind); /* the first; NULL */

/* In the launcher, before all that follows: where it is now is where children may be. */
void children_begin(void);

/* What runs in its place is ended before. */
void children_start(int number, const int fds[DESCRIPTORS]);
void children_end(int number);
void children_start_reader(int slot, uid_t uid, const int fds[DESCRIPTORS]);
void children_end_reader(int slot);

/* The broker and all children; as launcher_place. */
void children_place(int cpu, pid_t broker);

/* A timer on the CPU time of one of them has said so; what a plugin has used is sent to `socket`. */
void children_time_used(const struct signalfd_siginfo *info, int socket);

/* One that has ended by itself stays until the broker has noticed. */
void children_reap(void);

/* `ended` is SIGCHLD, blocked. */
void children_end_all(const sigset_t *ended);

/* The directory that they had in /run, after what else was in it. */
void children_leave(void);

#endif
