/* What a plugin does with the tasks that it has already: to make room, or in another order of priorities, it may move its own. */
#ifndef RTF_REASSIGN_H
#define RTF_REASSIGN_H

#include "plugins.h"

/* One that was started again hears of all that it had scheduled, and of its neighbours' tasks. */
void reassign_feed(int plugin);

/* A task has another CPU or priority now: its thread and its owner get to know. What may not be is the plugin's end. */
void reassign_take(int plugin, const struct plugin_event *event);

#endif
