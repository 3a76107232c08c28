/* The record of a plugin for a counted resource (network, disk): the amount that the plugin has
 * promised to each task. */
#ifndef RTF_AMOUNTS_H
#define RTF_AMOUNTS_H

#include "plugin.h"

/* Returns the part of `capacity` that is left when the amounts of all tasks except `task` are
 * subtracted. */
uint64_t amounts_left(uint64_t capacity, uint64_t task);

/* Sets the task's amount, and replaces an earlier amount. */
void amounts_set(uint64_t task, uint64_t is);

/* Handlers that all plugins for counted resources share. amounts_release and amounts_load are for
 * struct plugin. amounts_take_resource takes the word resource=, which only the broker uses. */
const char *amounts_release(const struct request *request, struct paragraph_output *out);
const char *amounts_load(const struct request *request);
const char *amounts_take_resource(const char *value);

#endif
