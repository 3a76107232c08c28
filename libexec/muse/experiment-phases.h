/* The phases of a thread in an experiment. */
#ifndef RTF_MUSE_EXPERIMENT_PHASES_H
#define RTF_MUSE_EXPERIMENT_PHASES_H

#include "experiment-reading.h"

/* The most numbers that a memory phase, or the shared memory, can have. */
enum { DOUBLES_MAX = 1 << 30 };

/* A reading_value; `into` is the struct member of the thread. */
bool experiment_phases(struct reading *reading, const json_t *value, void *into);

#endif
