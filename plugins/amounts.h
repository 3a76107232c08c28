/* What plugins for counted resources have promised, as one amount a task. */
#ifndef RTF_AMOUNTS_H
#define RTF_AMOUNTS_H

#include "plugin.h"

/* Of `capacity`, what is left beside all tasks but this one. */
uint64_t amounts_left(uint64_t capacity, uint64_t task);

/* The task has this from now on, instead of what it had. */
void amounts_set(uint64_t task, uint64_t is);

/* The handlers that are the same for all of them: of struct plugin, and of the word resource=, which is the broker's. */
const char *amounts_release(const struct request *request, struct paragraph_output *out);
const char *amounts_load(const struct request *request);
const char *amounts_take_resource(const char *value);

#endif
