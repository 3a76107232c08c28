/* The rule max_user_threads bounds the number of reservations that one user may have with a plugin.
 * Each SCHED_DEADLINE thread may exceed its runtime by a tick (plugins/tick-overruns.h). With the
 * word tick in place of a number, the bound is the number of such threads of one user that leaves
 * room for another user in spite of these overruns. */
#ifndef RTF_MAX_USER_THREADS_H
#define RTF_MAX_USER_THREADS_H

#include "acl-rules.h"
#include "plugin-lines.h"

/* Returns the largest number of threads beside which a reservation of 4 ms in each 10 ms still fits
 * on the CPUs of the plugin's line; at least 1. */
uint64_t tick_threads(const struct plugin_line *line);

/* Refuses the request if the user has as many reservations as the rule allows. */
void judge_threads(struct question *question, const struct rule *rule);

#endif
