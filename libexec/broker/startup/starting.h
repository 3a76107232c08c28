/* The start of the broker: starts the helper processes, takes over the grants that an earlier
 * broker left in force, and reads the specs that users have written meanwhile. */
#ifndef RTF_STARTING_H
#define RTF_STARTING_H

#include "command-line.h"

/* `lock` is the descriptor of the spool's lock. A failure ends the program. */
void broker_start(const struct options *options, int lock);

#endif
