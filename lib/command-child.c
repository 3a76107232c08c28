#include "command-child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT_RUN = 126, NOT_FOUND = 127 };

/* the action of SIGCHLD that this process inherited; the command gets this action back. This
 * process sets SIG_DFL, because with SIG_IGN the kernel keeps no exit status for waitpid(2) */
static struct sigaction inherited;

/* The signals that this process handles: SIGCHLD, and the signals to pass on to the command. They
 * include signals that would stop this process, and signals that its parent has blocked. */
static void all_signals(sigset_t *set)
{
    static const int all[] = {SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGALRM, SIGUSR1,
                              SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sigaddset(set, all[i]);
}

bool child_prepare(struct child *child)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t set;
    all_signals(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGCHLD, &usual, &inherited);
    child->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return child->signals >= 0;
}

/* If the value of the variable is `from`, the id of the parent, sets the value to the id of this
 * process, which becomes the command. The reason: a service manager sets LISTEN_PID=
 * (sd_listen_fds(3)) and WATCHDOG_PID= (sd_watchdog_enabled(3)) to the id of the process that it
 * starts, and this is the parent. */
static void hand_down(const char *variable, pid_t from)
{
    char ours[16], its[16];
    const char *value = getenv(variable);
    snprintf(ours, sizeof ours, "%d", from);
    snprintf(its, sizeof its, "%d", getpid());
    if (value != NULL && strcmp(value, ours) == 0)
        setenv(variable, its, 1);
}

__attribute__((noreturn)) static void become(char **command, const sigset_t *mask,
                                             const char *notify, int start, pid_t parent)
{
    char byte;
    while (read(start, &byte, 1) < 0 && errno == EINTR)
        ;
    hand_down("LISTEN_PID", parent);
    hand_down("WATCHDOG_PID", parent);
    if (notify != NULL)
        setenv("NOTIFY_SOCKET", notify, 1);
    sigaction(SIGCHLD, &inherited, NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(command[0], command);
    const int status = errno == ENOENT ? NOT_FOUND : CANNOT_RUN;
    fprintf(stderr, "rtf-run: %s: %s\n", command[0], strerror(errno));
    _exit(status);
}

bool child_make(struct child *child, char **command, const sigset_t *mask, const char *notify)
{
    int ends[2];
    const pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    child->go = ends[1];
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[1]);
        become(command, mask, notify, ends[0], parent);
    }
    close(ends[0]);
    return child->pid > 0;
}

void child_go(struct child *child)
{
    close(child->go);
    child->go = -1;
}

/* True if this process has to pass the signal on to the command. False for a signal of the
 * terminal, such as Ctrl-C: the kernel sends such a signal to the whole process group, so the
 * command has it already. */
static bool is_to_be_passed_on(const struct signalfd_siginfo *info)
{
    return info->ssi_signo != SIGCHLD && info->ssi_code != SI_KERNEL;
}

/* Stops this process, because its child has stopped. So the shell that started this process sees a
 * stopped job, and can continue the job. */
static void stop_alike(const struct child *child)
{
    raise(SIGSTOP);
    kill(child->pid, SIGCONT);
}

bool child_take(const struct child *child, int *status)
{
    struct signalfd_siginfo info;
    pid_t changed;
    while (read(child->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (is_to_be_passed_on(&info))
            kill(child->pid, (int)info.ssi_signo);
    while ((changed = waitpid(child->pid, status, WNOHANG | WUNTRACED)) == child->pid &&
           WIFSTOPPED(*status))
        stop_alike(child);
    return changed == child->pid;
}

int child_end_alike(int status)
{
    /* this process makes no core dump, because its core file could overwrite the core file of the
     * command */
    const struct rlimit none = {0, 0};
    sigset_t set;
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, WTERMSIG(status));
    raise(WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    return 128 + WTERMSIG(status);
}
