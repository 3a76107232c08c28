#include "end-signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int end_signals_open(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

void end_signals_close(int fd)
{
    struct signalfd_siginfo taken;
    sigset_t none;
    while (read(fd, &taken, sizeof taken) == (ssize_t)sizeof taken)
        ;
    close(fd);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}
