/* Moves of tasks that a plugin has already: to make room, or for another order of priorities, a
 * plugin may give its tasks other CPUs or priorities. */
#ifndef RTF_REASSIGN_H
#define RTF_REASSIGN_H

#include "plugins.h"

/* A plugin that was started again hears of all tasks that it had scheduled, and of its neighbours'
 * tasks. */
void reassign_feed(int plugin);

/* A task has another CPU or priority: changes its thread, and tells its owner. A move that the
 * plugin may not make ends the plugin. */
void reassign_take(int plugin, const struct plugin_event *event);

#endif
