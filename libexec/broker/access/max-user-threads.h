/* max_user_threads tick: how many SCHED_DEADLINE threads one user may have, so that their overruns
 * of a tick each (plugins/overruns.h) leave room for another user. */
#ifndef RTF_MAX_USER_THREADS_H
#define RTF_MAX_USER_THREADS_H

#include "plugin-lines.h"

/* Returns the largest number of threads beside which 4 ms in each 10 ms still fit on the CPUs of the
 * line; at least 1. */
uint64_t tick_threads(const struct plugin_line *line);

#endif
