/* sched_rt_runtime_us, the kernel's limit for all real-time threads of the machine: -1 while a broker needs that
 * (partition=unthrottled in plugins.conf(5)), and what it was before when none does any more.
 *
 * The record RT_LIMIT_RECORD tells what it was, and which brokers need it lifted: lines boot=, former= and by=, the latter once for each spool.
 * It is written before the setting is. A broker that was killed stands there until its spool is served again, put back or removed; for
 * it has left threads behind that need no less than before. */
#ifndef RTF_RT_LIMIT_H
#define RTF_RT_LIMIT_H

#include <stdbool.h>

#include "run-directory.h"

#define RT_LIMIT_RECORD RUN_DIRECTORY "/throttle"

enum { RT_LIMIT_REASON = 400 };

/* Before there are rules for files: they hold for an inode, and the setting's may be made anew. False with errno. */
bool rt_limit_open(void);

/* Both are for `by`, the path of a spool (printable ASCII), and may be said twice. False: *reason. While the kernel counts SCHED_DEADLINE threads that have
 * just ended it refuses to be limited (EBUSY), at most until the end of their periods: then it is said again. */
bool rt_limit_lift(const char *by, char reason[static RT_LIMIT_REASON]);
bool rt_limit_restore(const char *by, char reason[static RT_LIMIT_REASON]);

#endif
