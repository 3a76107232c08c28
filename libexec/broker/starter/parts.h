/* The parts that run, in the starter: which process each is, on which CPU, and how much CPU time it may use at once. */
#ifndef RTF_PARTS_H
#define RTF_PARTS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

#include "part.h"

/* As starter_add: its number. */
int parts_add(enum part_kind kind, char *const argv[], struct identity_to_run_as as);

bool parts_has(int number);
const struct part *parts_of_kind(enum part_kind kind); /* the first; NULL */

/* In the starter, before all that follows: where it is now is where parts may be. */
void parts_begin(void);

/* What runs in its place is ended before. */
void parts_start(int number, const int fds[DESCRIPTORS]);
void parts_end(int number);
void parts_start_reader(int slot, uid_t uid, const int fds[DESCRIPTORS]);
void parts_end_reader(int slot);

/* The broker and all parts; as starter_place. */
void parts_place(int cpu, pid_t broker);

/* A timer on the CPU time of one of them has said so; what a plugin has used is sent to `socket`. */
void parts_time_used(const struct signalfd_siginfo *info, int socket);

/* One that has ended by itself stays until the broker has noticed. */
void parts_reap(void);

/* `children` is SIGCHLD, blocked. */
void parts_end_all(const sigset_t *children);

/* The directory that they had in /run, after what else was in it. */
void parts_leave(void);

#endif
