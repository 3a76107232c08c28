/* Runs the command of rtf-run(1) as a child process. The parent passes its signals on to the child,
 * stops when the child stops, and ends in the same way as the child. */
#ifndef RTF_COMMAND_CHILD_H
#define RTF_COMMAND_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid;
    int signals; /* a signalfd(2): readable when child_take has something to do */
    int go;      /* an end of a pipe; when the parent closes it, the child becomes the command */
};

/* Blocks the signals that child_take handles, and opens the signalfd. Call this before child_make.
 * False: errno says why. */
bool child_prepare(struct child *child);

/* Makes a child process with this signal mask. The child waits until child_go, and then executes
 * the command. `notify` is the command's NOTIFY_SOCKET=; NULL: the command inherits the variable.
 * False: errno says why. */
bool child_make(struct child *child, char **command, const sigset_t *mask, const char *notify);
void child_go(struct child *child);

/* Passes on the signals that have arrived, and stops this process when the child has stopped. True:
 * the child has ended, and *status is what waitpid(2) stores. Does not block. */
bool child_take(const struct child *child, int *status);

/* Returns the exit status of a child that has exited. When a signal has killed the child, the same
 * signal kills this process. */
int child_end_alike(int status);

#endif
