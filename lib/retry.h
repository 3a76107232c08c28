/* Scheduling calls on a thread that fail for a moment (transient.h) are made again, for up to 100 ms. */
#ifndef RTF_RETRY_H
#define RTF_RETRY_H

#include <stdbool.h>
#include <sys/types.h>

#include "thread.h"

/* A call on a thread has failed, for the so manieth time from 0 on, with errno. It waits as long as nobody minds: who is believed to have
 * ended, or to be ordinary, keeps what he has. */
bool retry_again(int tries);

/* Policy and its parameters; no CPUs. -1 with errno. */
int retry_set(pid_t tid, const struct attributes *wanted);

/* False with errno: ESRCH, or what did not pass. */
bool retry_get(pid_t tid, struct attributes *now);

#endif
