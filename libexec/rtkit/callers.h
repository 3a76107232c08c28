/* Finds the thread that a caller means. A program in its own pid namespace (a container) sends the
 * thread's number in that namespace. The lookup may read the status of each thread of the caller.
 * So the worker of the caller's user (worker.h) does the lookup, and not the process that serves
 * all users. */
#ifndef RTF_RTKIT_CALLERS_H
#define RTF_RTKIT_CALLERS_H

#include <stdint.h>
#include <sys/types.h>

/* Returns the thread's id in our namespace; 0: no such thread. caller: a process id in our
 * namespace. process and thread: ids in the caller's namespace; process = 0: the caller. A process
 * other than the caller must be in the caller's namespace. */
pid_t caller_thread(pid_t caller, uint64_t process, uint64_t thread);

#endif
