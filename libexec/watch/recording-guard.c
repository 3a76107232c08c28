#include "recording-guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits for the end of the process `watched`, and removes the directory. At that time the kernel
 * has closed all files of that process, so the directory can be removed. */
__attribute__((noreturn)) static void guard(int watched, int root, const char *path)
{
    struct pollfd end = {.fd = watched, .events = POLLIN};
    sigset_t all;
    sigfillset(&all);
    /* a session of its own, so that Ctrl-C on the terminal ends only the process that records */
    (void)setsid();
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)prctl(PR_SET_NAME, "rtf-watch-guard");
    (void)!chdir("/");
    (void)dup2(watched, STDIN_FILENO);
    (void)dup2(root, STDOUT_FILENO);
    (void)syscall(SYS_close_range, STDERR_FILENO, ~0U, 0U);
    end.fd = STDIN_FILENO;
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
    _exit(unlinkat(STDOUT_FILENO, path, AT_REMOVEDIR) != 0 && errno != ENOENT);
}

pid_t start_guard(int root, const char *path)
{
    const int watched = (int)syscall(SYS_pidfd_open, getpid(), 0);
    const pid_t process = watched < 0 ? -1 : fork();
    if (process == 0)
        guard(watched, root, path);
    if (watched >= 0)
        close(watched);
    return process;
}

void end_guard(pid_t *process)
{
    if (*process <= 0)
        return;
    (void)kill(*process, SIGKILL);
    while (waitpid(*process, NULL, 0) < 0 && errno == EINTR)
        ;
    *process = -1;
}
