/* Finds a thread by its name (pthread_setname_np(3)) among the threads of a process. These
 * functions can watch one process at a time. */
#ifndef RTF_NAMES_OF_THREADS_H
#define RTF_NAMES_OF_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

/* Begins to watch a process, which has one thread so far. Returns a descriptor, which is readable
 * when a thread may have a new name; -1: errno says why. thread_names_close closes the
 * descriptor. */
int thread_names_open(pid_t process);

/* Returns the id of the first thread whose name matches the pattern (glob(7)); 0: no name matches.
 * The descriptor is readable again when a thread may have got a new name since this call. */
pid_t thread_names_find(pid_t process, const char *pattern);

void thread_names_close(void);

#endif
