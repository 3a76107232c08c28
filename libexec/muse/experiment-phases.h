/* Reads the phases of a thread from the text of an experiment. */
#ifndef RTF_MUSE_EXPERIMENT_PHASES_H
#define RTF_MUSE_EXPERIMENT_PHASES_H

#include "experiment-reading.h"

/* The largest number of doubles in a memory phase, or in the shared memory. */
enum { DOUBLES_MAX = 1 << 30 };

/* Has the type reading_value (experiment-reading.h). `into` is the struct member of the thread. */
bool experiment_phases(struct reading *reading, const json_t *value, void *into);

#endif
