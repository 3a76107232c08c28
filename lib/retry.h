/* Repeats scheduling calls that fail with a temporary error (transient.h), for up to 100 ms. */
#ifndef RTF_RETRY_H
#define RTF_RETRY_H

#include <stdbool.h>
#include <sys/types.h>

#include "thread.h"

/* Call this after a call on a thread has failed, while errno is the error of this call. tries: the
 * number of earlier failures, 0 at first. True: the error is temporary, and the function has slept
 * 1 ms; the caller repeats the call. A caller that gave up could wrongly take the thread for ended
 * or ordinary, and the thread would keep its real-time attributes. */
bool retry_again(int tries);

/* Calls sched_setattr(2) with the policy and parameters of *wanted, and repeats the call after a
 * temporary error. Does not set the CPUs of *wanted. -1: errno says why. */
int retry_set(pid_t tid, const struct attributes *wanted);

/* Like retry_set for a thread under the policy of *wanted, but does not set the policy: a thread that
 * has become ordinary meanwhile stays ordinary. */
int retry_set_parameters(pid_t tid, const struct attributes *wanted);

/* Like thread_attributes, but repeats the call after a temporary error. False: errno says why;
 * ESRCH: the thread has ended. */
bool retry_get(pid_t tid, struct attributes *now);

#endif
