#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "confine.h"
#include "capabilities.h"

static bool is_silent;

void child_be_silent(bool silent)
{
    is_silent = silent;
}

/* Below the broker, which has to be able to end it, and above all that is granted. What it starts in its turn is ordinary: a
 * program that serves one plugin must not be able to have every CPU. */
static bool step_down(void)
{
    struct sched_param param;
    if (sched_getscheduler(0) != SCHED_FIFO || sched_getparam(0, &param) != 0)
        return true;
    param.sched_priority--;
    return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0;
}

/* When memory runs out, in the machine or in the service's group, it is not the broker that is ended. */
static void be_ended_first(void)
{
    int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0) {
        (void)!write(score, "1000", 4);
        close(score);
    }
}

static bool confines_itself(enum child_kind kind)
{
    return kind == CHILD_HELPER || kind == CHILD_NET || kind == CHILD_DISK || kind == CHILD_GUARD || kind == CHILD_ADOPTER;
}

static bool arrange(enum child_kind kind, int in, int out, int keep)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGIO, SIG_DFL);
    setsid(); /* so that all it starts can be ended with it */
    int null = is_silent ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (null >= 0 && dup2(null, STDERR_FILENO) < 0)
        return false;
    if (dup2(in, STDIN_FILENO) < 0 || dup2(null >= 0 && confines_itself(kind) ? null : out, STDOUT_FILENO) < 0 || chdir("/") != 0)
        return false; /* they have nothing to say there */
    if (keep >= 0 && (keep = dup2(keep, 3)) < 0)
        return false;
    close_range(keep >= 0 ? 4 : 3, ~0U, 0);
    return true;
}

void child_run(const struct child *child, const int fds[DESCRIPTORS])
{
    static char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL};
    if (!arrange(child->kind, fds[0], fds[1], fds[2]))
        _exit(126);
    if (child->kind != CHILD_HELPER && child->kind != CHILD_GUARD && !step_down())
        _exit(126);
    if (child->kind == CHILD_PLUGIN)
        be_ended_first();
    if (child->kind == CHILD_LOOKUP || child->kind == CHILD_PLUGIN) {
        if (!confine_for_good() || (geteuid() == 0 && !become_unprivileged(child->as.uid, child->as.gid, (gid_t)-1)))
            _exit(126);
        /* After the change of user: where that takes a process over its limit, execve(2) fails, and others may have that uid, such as readers. */
        if (child->kind == CHILD_PLUGIN)
            confine_resources();
        confine_writes();
        if (child->kind == CHILD_PLUGIN && !confine_program())
            _exit(126);
    }
    execve(child->argv[0], child->argv, environment);
    _exit(errno == ENOENT ? 127 : 126);
}

/* How much a reader has to keep in mind is for its user to say. It is locked, and part of what all children may have together: when that is used up, it is
 * not to be a plugin that is ended for it. */
static void bound_reader(void)
{
    static const struct rlimit none;
#ifndef __SANITIZE_ADDRESS__ /* which sets terabytes aside */
    static const struct rlimit most = {64 << 20, 64 << 20};
    (void)setrlimit(RLIMIT_DATA, &most);
#endif
    (void)setrlimit(RLIMIT_CORE, &none);
    be_ended_first();
}

struct new_reader {
    const struct child *child;
    uid_t uid;
    int fds[DESCRIPTORS]; /* its socket, the directory, an inotify instance or -1 */
};

static bool arrange_reader(const struct new_reader *reader)
{
    const int fds[] = {reader->fds[0], STDERR_FILENO, reader->fds[1], reader->fds[2]};
    static const int places[] = {STDIN_FILENO, STDOUT_FILENO, 3, 4};
    int high[4]; /* out of the way of one another */
    sigset_t none;
    for (int i = 0; i < 4; i++)
        high[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, 16);
    setsid();
    for (int i = 0; i < 4; i++)
        if (high[i] >= 0 && dup2(high[i], places[i]) < 0)
            return false;
    close_range(fds[3] >= 0 ? 5 : 4, ~0U, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    bound_reader();
    return chdir("/") == 0 && step_down();
}

/* What it needs to be for that it asks for itself, before the first byte from anybody; and its own rank is below the broker's. Runs in the launcher's
 * memory, while the launcher waits: it may change what is the process's, and nothing else. */
static int run_reader(void *start)
{
    const struct new_reader *reader = start;
    char owner[16], own_uid[16], own_gid[16];
    char *const argv[] = {reader->child->argv[0], owner, own_uid, own_gid, NULL};
    static char *const environment[] = {"LC_ALL=C", NULL};
    snprintf(owner, sizeof owner, "%u", reader->uid);
    snprintf(own_uid, sizeof own_uid, "%u", reader->child->as.uid);
    snprintf(own_gid, sizeof own_gid, "%u", reader->child->as.gid);
    if (arrange_reader(reader))
        execve(reader->child->argv[0], argv, environment);
    _exit(errno == ENOENT ? 127 : 126);
}

/* A user whose reader does not run waits for its start: as vfork(2), for a copy of what the launcher has locked takes longer than all else that the
 * kernel does to start a program. */
pid_t child_fork_reader(const struct child *child, uid_t uid, const int fds[DESCRIPTORS])
{
    static char stack[16384] __attribute__((aligned(64)));
    struct new_reader reader = {child, uid, {fds[0], fds[1], fds[2]}};
    return clone(run_reader, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, &reader);
}
