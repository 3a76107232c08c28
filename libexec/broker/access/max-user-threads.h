/* max_user_threads: how many reservations one user may have with a plugin. For `tick` it is how many
 * SCHED_DEADLINE threads one user may have, so that their overruns of a tick each
 * (plugins/tick-overruns.h) leave room for another user. */
#ifndef RTF_MAX_USER_THREADS_H
#define RTF_MAX_USER_THREADS_H

#include "acl-rules.h"
#include "plugin-lines.h"

/* Returns the largest number of threads beside which 4 ms in each 10 ms still fit on the CPUs of the
 * line; at least 1. */
uint64_t tick_threads(const struct plugin_line *line);

/* Refuses the request if the user has as many reservations as the rule allows. */
void judge_threads(struct question *question, const struct rule *rule);

#endif
