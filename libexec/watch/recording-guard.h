/* The guard process. If the process that records is killed, the guard removes the recording from
 * the kernel. */
#ifndef RTF_WATCH_RECORDING_GUARD_H
#define RTF_WATCH_RECORDING_GUARD_H

#include <sys/types.h>

/* Starts a process that waits for the end of this process, and then removes the directory `path`
 * below `root`. -1: errno says why. */
pid_t start_guard(int root, const char *path);

/* Ends the process *process, and sets *process to -1. If *process is 0 or less, there is no guard,
 * and the function does nothing. */
void end_guard(pid_t *process);

#endif
