/* Repeats scheduling calls that fail with a temporary error (transient.h), for up to 100 ms. */
#ifndef RTF_RETRY_H
#define RTF_RETRY_H

#include <stdbool.h>
#include <sys/types.h>

#include "thread.h"

/* Call this after failure number `tries` (from 0 on) of a call on a thread, with its errno. True:
 * the error is temporary, and the function has slept 1 ms; repeat the call. A caller that gave up
 * could wrongly take the thread for ended or ordinary, and the thread would keep its real-time
 * attributes. */
bool retry_again(int tries);

/* sched_setattr(2) with policy and parameters of *wanted, without its CPUs. -1 with errno. */
int retry_set(pid_t tid, const struct attributes *wanted);

/* thread_attributes, repeated. False with errno; ESRCH: the thread has ended. */
bool retry_get(pid_t tid, struct attributes *now);

#endif
