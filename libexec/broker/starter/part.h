/* In the process that will be a part of the broker: what it has, and has not, when its program begins. */
#ifndef RTF_PART_H
#define RTF_PART_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "part-kind.h"

enum { DESCRIPTORS = 3 };

struct part {
    enum part_kind kind;
    char **argv;
    struct identity_to_run_as as;
    pid_t pid; /* known to the starter only; 0: not running. Not waited for before it is ended, so the number stays its. */
    timer_t timer; /* on its CPU time; where is_timed */
    bool is_timed;
};

/* What parts say on standard error goes nowhere. */
void part_be_silent(bool silent);

/* Standard input and output, and the descriptor 3 or -1. */
__attribute__((noreturn)) void part_run(const struct part *part, const int fds[DESCRIPTORS]);

/* Its socket, the directory, an inotify instance or -1. 0 or less: none was started. */
pid_t part_fork_reader(const struct part *part, uid_t uid, const int fds[DESCRIPTORS]);

#endif
