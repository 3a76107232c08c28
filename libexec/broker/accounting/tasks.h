/* Tasks: plugins know each reservation, and each debt, as a task with a number. */
#ifndef RTF_TASKS_H
#define RTF_TASKS_H

#include "reservation.h"

/* tasks_from: an earlier broker has used the numbers up to `first`. task_new returns an unused
 * number. */
void tasks_from(uint64_t first);
uint64_t task_new(void);

/* Plugins that share CPUs hear of one another's tasks. */
void tell_neighbours(uint64_t task, const struct grant *before, const struct grant *after);

/* Tells a restarted plugin of this task, if the task is its own or a neighbour's. */
void feed_one(int plugin, uint64_t task, const struct grant *grant);

#endif
