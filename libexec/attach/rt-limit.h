/* sched_rt_runtime_us, the kernel's limit for all real-time threads of the machine, in us per
 * sched_rt_period_us. The setting is -1 (no limit) while a broker needs that
 * (partition=unthrottled in plugins.conf(5)). When no broker needs that any more, the setting
 * gets its former value.
 *
 * The file RT_LIMIT_RECORD has the former value and the brokers that need the limit lifted:
 * lines boot=, former= and, one for each spool, by=. The record is written before the setting. A
 * killed broker stays in the record until its spool is served again, is given back or is
 * removed, because its threads are still attached and need the limit lifted. */
#ifndef RTF_RT_LIMIT_H
#define RTF_RT_LIMIT_H

#include <stdbool.h>

#include "run-directory.h"

#define RT_LIMIT_RECORD RUN_DIRECTORY "/throttle"

enum { RT_LIMIT_REASON = 400 };

/* Opens the setting. To be called before Landlock rules are set: a rule for a file holds for its
 * inode, and the kernel may make the inode of the setting anew. False with errno. */
bool rt_limit_open(void);

/* Lift the limit for `by`, the path of a spool (printable ASCII), and end that again. Calling
 * either twice does no harm. False: *reason. The kernel refuses a limit (EBUSY) while it still
 * counts SCHED_DEADLINE threads that have just ended, until the end of their periods at most:
 * then call again. */
bool rt_limit_lift(const char *by, char reason[static RT_LIMIT_REASON]);
bool rt_limit_restore(const char *by, char reason[static RT_LIMIT_REASON]);

#endif
