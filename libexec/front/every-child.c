#include "every-child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command-line.h"
#include "every.h"
#include "every-spec.h"

int every_pidfd(pid_t child)
{
    return (int)syscall(SYS_pidfd_open, child, 0);
}

/* Reads the time of the activation from the gate, sleeps until that time, and becomes the command.
 * If rtf-every ends before that time, the process ends, too. */
__attribute__((noreturn)) static void become_command(int gate)
{
    int64_t activation;
    ssize_t got;
    do
        got = read(gate, &activation, sizeof activation);
    while (got < 0 && errno == EINTR);
    if (got != sizeof activation)
        _exit(EXIT_OURS);
    const struct timespec time = {.tv_sec = activation / 1000000,
                                  .tv_nsec = activation % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
        ;
    sigprocmask(SIG_SETMASK, &every.inherited, NULL);
    execvp(every.options.command[0], every.options.command);
    int status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    command_say("%s: %s", every.options.command[0], strerror(errno));
    _exit(status);
}

pid_t every_start_child(int input, int *gate)
{
    int ends[2];
    *gate = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -1;
    fflush(NULL);
    pid_t parent = getpid(), child = fork();
    if (child == 0) {
        close(ends[1]);
        if (input >= 0)
            dup2(input, STDIN_FILENO);
        prctl(PR_SET_PDEATHSIG, SIGHUP);
        if (getppid() != parent)
            _exit(EXIT_OURS);
        become_command(ends[0]);
    }
    close(ends[0]);
    if (child < 0)
        close(ends[1]);
    else
        *gate = ends[1];
    return child;
}

bool every_open_gate(int gate, int64_t activation)
{
    return write(gate, &activation, sizeof activation) == sizeof activation;
}

int every_status(pid_t child)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_OURS;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void every_take_signal(pid_t child)
{
    struct signalfd_siginfo info;
    while (read(every.signals, &info, sizeof info) == sizeof info) {
        every.ended_by = (int)info.ssi_signo;
        if (child > 0 && info.ssi_code != SI_KERNEL)
            kill(child, every.ended_by);
    }
}

bool every_sleep_until(int64_t time, struct pollfd *fds, nfds_t count)
{
    for (int64_t left; (left = time - every_now()) > 0;) {
        const int64_t due =
            every.renewed != 0 ? every.renewed + LEASE / 3 - every_now() : INT64_MAX;
        if (due <= 0)
            every_renew();
        const int64_t least = left < due ? left : due > 0 ? due : 0;
        const struct timespec wait = {.tv_sec = least / 1000000, .tv_nsec = least % 1000000 * 1000};
        if (ppoll(fds, count, &wait, NULL) > 0)
            return true;
    }
    return false;
}

int every_finish(pid_t child)
{
    struct pollfd fds[] = {{.fd = every_pidfd(child), .events = POLLIN},
                           {.fd = every.signals, .events = POLLIN}};
    while (fds[0].fd >= 0 && fds[0].revents == 0)
        if (every_sleep_until(INT64_MAX, fds, 2) && fds[1].revents != 0)
            every_take_signal(child);
    if (fds[0].fd >= 0)
        close(fds[0].fd);
    return every_status(child);
}
