/* From a process to a broker that serves: its helper processes, what was in force, what has come meanwhile. */
#ifndef RTF_STARTING_H
#define RTF_STARTING_H

#include "command-line.h"

/* `lock` is that of the spool. What fails ends the program. */
void start(const struct options *options, int lock);

#endif
