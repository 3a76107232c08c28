/* How the kernel schedules a thread, as JSON: tid, process, session, start (clock ticks since boot), uid, policy, reset_on_fork, priority, nice, runtime, deadline
 * and period in us, cpus. */
#ifndef RTF_THREAD_JSON_H
#define RTF_THREAD_JSON_H

#include <jansson.h>

#include "thread.h"

/* False: there is no such thread, it has ended, or it is the kernel's. */
bool thread_look_at(pid_t tid, struct identity *identity, struct attributes *attributes);

json_t *thread_as_json(const struct identity *identity, const struct attributes *attributes);

#endif
