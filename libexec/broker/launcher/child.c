#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "confine.h"
#include "capabilities.h"
#include "process-budget.h"

static struct {
    char stack[16384] __attribute__((aligned(64))); /* the stack of a reader until its execve(2) */
    bool is_silent;
    int hierarchy; /* the cgroup hierarchy (lib/process-budget.h); -1: not open */
} forking = {.hierarchy = -1};

void child_be_silent(bool silent)
{
    forking.is_silent = silent;
}

void child_open_hierarchy(void)
{
    const int root = budget_hierarchy_open();
    if (root < 0)
        fprintf(stderr,
                "rtf-launcher: cannot open a perf_event hierarchy of cgroup version 1: %s\n",
                strerror(errno));
    /* the copy has a higher number than the descriptors that children use */
    forking.hierarchy = root < 0 ? -1 : fcntl(root, F_DUPFD_CLOEXEC, BUDGET_HIERARCHY + 1);
    if (root >= 0)
        close(root);
}

/* Gives this process a priority above all grants, but below the broker, because the broker has to
 * be able to end the child. Processes that the child starts are ordinary, because the processes of
 * one plugin must not take every CPU. */
static bool step_down(void)
{
    struct sched_param param;
    if (sched_getscheduler(0) != SCHED_FIFO || sched_getparam(0, &param) != 0)
        return true;
    param.sched_priority--;
    return sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) == 0;
}

/* When memory runs out, in the machine or in the service's cgroup, the kernel ends this child and
 * not the broker. */
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
    return kind == CHILD_HELPER || kind == CHILD_NET || kind == CHILD_DISK || kind == CHILD_GUARD ||
           kind == CHILD_TASKS || kind == CHILD_WATCH || kind == CHILD_ADOPTER;
}

static bool arrange(enum child_kind kind, int in, int out, int keep)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGIO, SIG_DFL);
    setsid(); /* all processes of the child's session can be ended together */
    int null = forking.is_silent ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (null >= 0 && dup2(null, STDERR_FILENO) < 0)
        return false;
    if (dup2(in, STDIN_FILENO) < 0 ||
        dup2(null >= 0 && confines_itself(kind) ? null : out, STDOUT_FILENO) < 0 || chdir("/") != 0)
        /* a child that confines itself writes nothing to standard output, and has the broker's
         * standard error there; if the children are silent, it gets /dev/null instead */
        return false;
    if (keep >= 0 && (keep = dup2(keep, 3)) < 0)
        return false;
    const bool groups = (kind == CHILD_HELPER || kind == CHILD_GUARD) &&
                        dup2(forking.hierarchy, BUDGET_HIERARCHY) >= 0;
    if (groups && keep < 0)
        close(3);
    close_range(groups ? BUDGET_HIERARCHY + 1 : keep >= 0 ? 4 : 3, ~0U, 0);
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
        if (!confine_for_good() ||
            (geteuid() == 0 && !become_unprivileged(child->as.uid, child->as.gid, (gid_t)-1)))
            _exit(126);
        /* The limit of processes is set after the change of user. Other processes, such as readers,
         * may have this uid, and may exceed the limit already. If the limit were set before the
         * change, execve(2) would then fail. */
        if (child->kind == CHILD_PLUGIN)
            confine_resources();
        confine_writes();
        if (child->kind == CHILD_PLUGIN && !confine_program())
            _exit(126);
    }
    execve(child->argv[0], child->argv, environment);
    _exit(errno == ENOENT ? 127 : 126);
}

/* Bounds the memory of a reader, because the reader's user controls how much memory the reader
 * needs. The memory is locked, and the kernel counts it together with the memory of all other
 * children. Without the bound, the kernel might kill a plugin because a reader needs too much. */
static void bound_reader(void)
{
    static const struct rlimit none;
#ifndef __SANITIZE_ADDRESS__ /* AddressSanitizer reserves terabytes of addresses */
    static const struct rlimit most = {64 << 20, 64 << 20};
    (void)setrlimit(RLIMIT_DATA, &most);
#endif
    (void)setrlimit(RLIMIT_CORE, &none);
    be_ended_first();
}

struct new_reader {
    const struct child *child;
    uid_t uid;
    int fds[DESCRIPTORS]; /* the socket, the directory, an inotify instance or -1 */
};

static bool arrange_reader(const struct new_reader *reader)
{
    const int fds[] = {reader->fds[0], STDERR_FILENO, reader->fds[1], reader->fds[2]};
    static const int places[] = {STDIN_FILENO, STDOUT_FILENO, 3, 4};
    /* copies with high numbers, so that no dup2(2) overwrites a descriptor that is still needed */
    int high[4];
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

/* Starts the reader with a priority below the broker's; the reader confines itself before it reads
 * a byte. This function runs in the launcher's memory while the launcher waits: it may change its
 * own process, but nothing in memory. */
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

/* Starts the reader as vfork(2) does, because a user waits for this start. fork(2) would copy the
 * launcher's locked memory, which takes longer than the rest of the start. */
pid_t child_fork_reader(const struct child *child, uid_t uid, const int fds[DESCRIPTORS])
{
    struct new_reader reader = {child, uid, {fds[0], fds[1], fds[2]}};
    return clone(run_reader, forking.stack + sizeof forking.stack, CLONE_VM | CLONE_VFORK | SIGCHLD,
                 &reader);
}
