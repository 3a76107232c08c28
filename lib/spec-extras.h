/* Parses the keys lock_memory, cpu_latency, nice and clamp of a spec (extras.h). */
#ifndef RTF_SPEC_EXTRAS_H
#define RTF_SPEC_EXTRAS_H

#include <jansson.h>
#include <stdbool.h>

/* `into` is the spec's struct extras. False: *why says what is allowed. */
bool take_lock_memory(const json_t *value, void *into, char *why);
bool take_cpu_latency(const json_t *value, void *into, char *why);
bool take_nice(const json_t *value, void *into, char *why);
bool take_clamp(const json_t *value, void *into, char *why);

#endif
