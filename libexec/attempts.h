/* Scheduling calls on a thread that fail for a moment (moment.h) are made again, for up to 100 ms. */
#ifndef RTF_ATTEMPTS_H
#define RTF_ATTEMPTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "thread.h"

/* A call on a thread has failed, for the so manieth time from 0 on, with errno. It waits as long as nobody minds: who is believed to have
 * ended, or to be ordinary, keeps what he has. */
bool attempt_again(int tries);

/* Policy and its parameters; no CPUs. -1 with errno. */
int attempt_set(pid_t tid, const struct attributes *wanted);

/* False with errno: ESRCH, or what did not pass. */
bool attempt_get(pid_t tid, struct attributes *now);

#endif
