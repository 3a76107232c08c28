/* The thread of a process that has a name (pthread_setname_np(3)). */
#ifndef RTF_NAMES_OF_THREADS_H
#define RTF_NAMES_OF_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

/* Before the process has more than one thread. A descriptor that is readable when one may have a new name; -1 with errno. */
int names_open(pid_t process);

/* The first that has a name like the pattern (glob(7)); 0: none has. The descriptor is then readable no more until there is news. */
pid_t names_find(pid_t process, const char *pattern);

void names_close(void);

#endif
