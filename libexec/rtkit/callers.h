/* Who asks, and which thread he means: a program in a pid namespace of its own, as in a container, says the number that the thread has there. */
#ifndef RTF_RTKIT_CALLERS_H
#define RTF_RTKIT_CALLERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct caller {
    uid_t uid;
    gid_t gid;
    pid_t process;
    bool is_nested; /* in a pid namespace of its own, which a process stays in */
};

/* Fills is_nested. False: there is no such process. */
bool caller_look(struct caller *caller);

/* The number that this process's thread has here; 0: it has no such thread. */
pid_t caller_thread(const struct caller *caller, uint64_t thread);

/* The same of another process's, as the caller sees both; only from its own namespace, or of itself. */
pid_t caller_thread_of(const struct caller *caller, uint64_t process, uint64_t thread);

#endif
