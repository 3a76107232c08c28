/* In the process that will be a child of the broker: what it has, and has not, when its program begins. */
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
    pid_t pid; /* known to the launcher only; 0: not running. Not waited for before it is ended, so the number stays its. */
    pid_t ending; /* CHILD_DISK: the last that was ended, which may not have come to its end yet */
    timer_t timer; /* on its CPU time; where is_timed */
    bool is_timed;
    struct budget budget; /* of an adopter */
};

/* What children say on standard error goes nowhere. */
void child_be_silent(bool silent);

/* Standard input and output, and the descriptor 3 or -1. */
__attribute__((noreturn)) void child_run(const struct child *child, const int fds[DESCRIPTORS]);

/* Its socket, the directory, an inotify instance or -1. 0 or less: none was started. */
pid_t child_fork_reader(const struct child *child, uid_t uid, const int fds[DESCRIPTORS]);

#endif
