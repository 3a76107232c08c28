/* The amounts promised by plugins for counted resources, one amount per task. */
#ifndef RTF_AMOUNTS_H
#define RTF_AMOUNTS_H

#include "plugin.h"

/* The part of `capacity` that no other task than this one has. */
uint64_t amounts_left(uint64_t capacity, uint64_t task);

/* Sets the task's amount, in place of an earlier one. */
void amounts_set(uint64_t task, uint64_t is);

/* Handlers shared by all these plugins: for struct plugin, and for the word resource=, which only
 * the broker uses. */
const char *amounts_release(const struct request *request, struct paragraph_output *out);
const char *amounts_load(const struct request *request);
const char *amounts_take_resource(const char *value);

#endif
