/* The start: helper processes, what an earlier broker left in force, and what has come
 * meanwhile. */
#ifndef RTF_STARTING_H
#define RTF_STARTING_H

#include "command-line.h"

/* `lock` is the lock of the spool. A failure ends the program. */
void broker_start(const struct options *options, int lock);

#endif
