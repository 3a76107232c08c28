#include "srun-end.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t watcher = -1;

/* The child has a session of its own, so that a signal to the process group of srun, such as an
 * interrupt from the terminal, does not end the child. The child closes all descriptors of srun,
 * because the reader of srun's output waits until all copies are closed. */
static _Noreturn void watch(int srun, uint32_t job, uint32_t step)
{
    char name[32];
    struct pollfd end = {.fd = 3, .events = POLLIN};
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "rtf-srun-end"); /* so that `killall srun` does not end the child */
    if (dup2(srun, 3) < 0)
        _exit(1);
    close_range(4, ~0U, 0);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    while (poll(&end, 1, -1) < 0 && errno == EINTR)
        ;
    snprintf(name, sizeof name, "%" PRIu32 ".%" PRIu32, job, step);
    execlp("scancel", "scancel", "--quiet", name, NULL);
    _exit(127);
}

bool srun_end_watch(uint32_t job, uint32_t step)
{
    const int srun = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (srun < 0)
        return false;
    watcher = fork();
    if (watcher == 0)
        watch(srun, job, step);
    const int error = errno;
    close(srun);
    errno = error;
    return watcher > 0;
}

void srun_end_forget(void)
{
    if (watcher <= 0)
        return;
    (void)kill(watcher, SIGKILL);
    while (waitpid(watcher, NULL, 0) < 0 && errno == EINTR)
        ;
    watcher = -1;
}
