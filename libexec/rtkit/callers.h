/* Which thread a caller means: a program in a pid namespace of its own, as in a container, says the number that the thread has there. This may read the
 * status of each thread of the caller: a caller's own worker does it, not the process that serves all. */
#ifndef RTF_RTKIT_CALLERS_H
#define RTF_RTKIT_CALLERS_H

#include <stdint.h>
#include <sys/types.h>

/* The number that this thread has here; 0: there is none. `caller` is a process here; `process` and `thread` are as the caller sees them. A process of 0 is
 * the caller; another one has to be of the caller's own pid namespace. */
pid_t caller_thread(pid_t caller, uint64_t process, uint64_t thread);

#endif
