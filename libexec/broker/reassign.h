/* Moves of granted tasks: a plugin may give its tasks other CPUs or priorities, to make room for a
 * new task or to keep its tasks in the order of their priorities. */
#ifndef RTF_REASSIGN_H
#define RTF_REASSIGN_H

#include "plugins.h"

/* Tells a plugin that was started again all tasks that it had scheduled, and the tasks of other
 * plugins on its CPUs. */
void reassign_feed(int plugin);

/* The plugin has moved a task: changes the attributes of the task's thread, and tells its owner.
 * Kills a plugin that makes a move that is not allowed. */
void reassign_take(int plugin, const struct plugin_event *event);

#endif
