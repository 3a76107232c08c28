/* Tasks: plugins know each reservation, and each debt, as a task with a number. */
#ifndef RTF_TASKS_H
#define RTF_TASKS_H

#include "reservation.h"

/* tasks_from says that an earlier broker has used the numbers up to `first`. task_new returns an
 * unused number. */
void tasks_from(uint64_t first);
uint64_t task_new(void);

/* Tells the plugins that share CPUs with a grant's plugin that the task had the grant `before` and
 * has the grant `after`. NULL: no grant. */
void tell_neighbours(uint64_t task, const struct grant *before, const struct grant *after);

/* Tells a restarted plugin of this task, if the task belongs to this plugin, or to a plugin that
 * shares CPUs with this plugin. */
void feed_one(int plugin, uint64_t task, const struct grant *grant);

#endif
