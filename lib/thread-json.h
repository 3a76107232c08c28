/* A thread's scheduling attributes as JSON: tid, process, session, start (clock ticks since
 * boot), uid, policy, reset_on_fork, priority, nice, cpus, and runtime, deadline and period in
 * us. */
#ifndef RTF_THREAD_JSON_H
#define RTF_THREAD_JSON_H

#include <jansson.h>

#include "thread.h"

/* Reads identity and attributes of a thread. False: the thread does not exist, has ended, or is a
 * kernel thread. */
bool thread_look_at(pid_t tid, struct identity *identity, struct attributes *attributes);

json_t *thread_as_json(const struct identity *identity, const struct attributes *attributes);

#endif
