/* Reservations as the plugins know them: each is a task with a number, and so is what one has given up and not paid back. */
#ifndef RTF_TASKS_H
#define RTF_TASKS_H

#include "reservation.h"

/* Numbers up to this one have been given to an earlier broker's tasks. And one that nobody has. */
void tasks_from(uint64_t first);
uint64_t task_new(void);

/* Plugins that share CPUs hear of one another's tasks. */
void tell_neighbours(uint64_t task, const struct grant *before, const struct grant *after);

/* A plugin that was restarted hears of this one: it is its own, or a neighbour's, or neither. */
void feed_one(int plugin, uint64_t task, const struct grant *grant);

#endif
