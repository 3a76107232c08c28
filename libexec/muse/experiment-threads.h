/* Reads the threads of an experiment. */
#ifndef RTF_MUSE_EXPERIMENT_THREADS_H
#define RTF_MUSE_EXPERIMENT_THREADS_H

#include "experiment-reading.h"

/* Reads the value of "threads". Call this after all other keys, because the other keys say what
 * threads may use. */
bool experiment_threads(struct reading *reading, const json_t *value);

/* Has the type reading_value, and reads the key "supply" of an analysis. `into` is the set of
 * modules. */
bool experiment_supply(struct reading *reading, const json_t *value, void *into);

#endif
