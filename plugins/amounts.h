/* The amounts promised by plugins for counted resources, one amount per task. */
#ifndef RTF_AMOUNTS_H
#define RTF_AMOUNTS_H

#include "plugin.h"

/* Returns the part of `capacity` that is left beside all tasks other than `task`. */
uint64_t amounts_left(uint64_t capacity, uint64_t task);

/* Sets the task's amount, and replaces an earlier amount. */
void amounts_set(uint64_t task, uint64_t is);

/* Handlers that all plugins for counted resources share: two for struct plugin, and one for the
 * word resource=, which only the broker uses. */
const char *amounts_release(const struct request *request, struct paragraph_output *out);
const char *amounts_load(const struct request *request);
const char *amounts_take_resource(const char *value);

#endif
