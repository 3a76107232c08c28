/* Runs a program (a command) in place of a thread's phases. The program gets the thread's policy,
 * affinity or reservation. The program needs no change to be measured. */
#ifndef RTF_MUSE_COMMAND_H
#define RTF_MUSE_COMMAND_H

#include "experiment.h"

/* Replaces the calling process by the command. Returns only after a failure, with errno. */
void command_become(const struct member *member);

#endif
