/* Reads the values of an experiment: numbers, times, policies and CPUs. False: the value is wrong,
 * and the fault is noted. */
#ifndef RTF_MUSE_EXPERIMENT_VALUES_H
#define RTF_MUSE_EXPERIMENT_VALUES_H

#include "experiment-reading.h"

bool reading_integer(struct reading *reading, const json_t *value, int64_t least, int64_t most,
                     int64_t *into);

/* Both functions give ns. reading_seconds reads the duration of an experiment, or its horizon. With
 * --compat, a number without a unit is in seconds for reading_seconds. */
bool reading_time(struct reading *reading, const json_t *value, int64_t *into);
bool reading_seconds(struct reading *reading, const json_t *value, int64_t *into);

const char *experiment_policy_name(enum policy policy);
bool reading_policy(struct reading *reading, const json_t *value, enum policy *into);
bool reading_cpu_array(struct reading *reading, const json_t *array, cpu_set_t *cpus);

#endif
