/* A command as a child process: what is done to us is done to it, and we end as it does. */
#ifndef RTF_CHILD_H
#define RTF_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid;
    int signals; /* readable when there is something for child_take */
    int go;      /* it waits for the end of this before it becomes the command */
};

/* From here on signals are for child_take. False with errno. */
bool child_prepare(struct child *child);

/* With this signal mask; notify: for its NOTIFY_SOCKET=, or NULL for what we have. It has its id, and starts at child_go. False with errno. */
bool child_make(struct child *child, char **command, const sigset_t *mask, const char *notify);
void child_go(struct child *child);

/* Passes signals on, and stops with it. True: it has ended, and *status is what waitpid(2) says. */
bool child_take(const struct child *child, int *status);

/* The exit status that is the same; of one that a signal has killed it does not return. */
int child_end_alike(int status);

#endif
