/* A program that is measured as it is, in the place of phases: started with the policy, affinity or reservation of its thread. */
#ifndef RTF_MUSE_COMMAND_H
#define RTF_MUSE_COMMAND_H

#include "experiment.h"

/* In the process that becomes it; returns only if that fails, with errno. */
void command_become(const struct member *member);

#endif
