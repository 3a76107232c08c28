/* Moves of granted tasks. A plugin may give its own tasks other CPUs or priorities. It does this to
 * make room for a new task, or to keep its tasks in the order of their priorities. */
#ifndef RTF_REASSIGN_H
#define RTF_REASSIGN_H

#include "plugins.h"

/* Tells a plugin that was started again all tasks that it had scheduled, and the tasks of other
 * plugins on its CPUs. */
void reassign_feed(int plugin);

/* Call this when a plugin has moved a task. Changes the attributes of the task's thread, and tells
 * the owner. Kills a plugin that makes a move that is not allowed. */
void reassign_take(int plugin, const struct plugin_event *event);

#endif
