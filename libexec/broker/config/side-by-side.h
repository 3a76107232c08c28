/* Decides which plugins can keep their promises on one CPU together, and which plugin judges the
 * plans of which other plugin. */
#ifndef RTF_SIDE_BY_SIDE_H
#define RTF_SIDE_BY_SIDE_H

#include <stdbool.h>

#include "reason.h"
#include "thread.h"

/* True: `judge` has to agree before `plugin` grants this plan. Only a thread whose priority is
 * above or among the priorities of the judge's threads can break the judge's promises. */
bool plugin_must_judge(int judge, int plugin, const struct attributes *plan);

/* True: another plugin may have to judge plans of this plugin. */
bool plugin_may_be_judged(int plugin);

/* True: the plugin decides one change at a time, because another grant that is made during a change
 * could make it impossible to restore the old plan. */
bool plugin_takes_turns(int plugin);

/* True: the plugin decides one request at a time, also about new reservations, and users take
 * turns. */
bool plugin_is_asked_alone(int plugin);

/* Call this when all plugins have greeted. Checks whether each plugin can keep its promises beside
 * the other plugins. False: *reason says why. */
bool plugins_check_neighbours(char reason[static REASON_BYTES]);

#endif
