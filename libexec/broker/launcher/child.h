/* A new child, before its program begins: its descriptors, user, rights, limits and priority. */
#ifndef RTF_CHILD_H
#define RTF_CHILD_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "child-budget.h"
#include "child-kind.h"

enum { DESCRIPTORS = 3 };

struct child {
    enum child_kind kind;
    char **argv;
    struct identity_to_run_as as;
    /* in the launcher only; 0: not running. The launcher reaps an ended child only after the broker
     * has ordered the child's end, so that no other process gets the id before. */
    pid_t pid;
    /* only for CHILD_DISK: the last process that got the order to end, and that may still run */
    pid_t ending;
    timer_t timer; /* a timer on the child's CPU time, if is_timed */
    bool is_timed;
    struct budget budget; /* only if the child is an adopter */
};

/* silent: the children's standard error goes to /dev/null. */
void child_be_silent(bool silent);

/* Opens the cgroup hierarchy (process-budget.h) that the attach helper and the guard get, before
 * the launcher gives up its privileges. */
void child_open_hierarchy(void);

/* Turns this process into the child, and runs its program. fds: standard input, standard output,
 * and descriptor 3 or -1. */
__attribute__((noreturn)) void child_run(const struct child *child, const int fds[DESCRIPTORS]);

/* Starts a reader. fds: the socket, the directory, an inotify instance or -1. Returns 0 or less if
 * the reader could not be started. */
pid_t child_fork_reader(const struct child *child, uid_t uid, const int fds[DESCRIPTORS]);

#endif
