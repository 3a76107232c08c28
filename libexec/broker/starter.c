#include "locked.h"
#include "moment.h"
#include "starter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine.h"
#include "pass.h"

struct part {
    enum part_kind kind;
    char **argv;
    struct identity_to_run_as as;
    pid_t pid; /* known to the starter only; 0: not running. Not waited for before it is ended, so the number stays its. */
};

struct order {
    enum { START, END, PLACE } what;
    int part; /* PLACE: a CPU, or -1 */
};
enum { DESCRIPTORS = 3 };

static struct part *parts;
static int parts_count, to_starter = -1;
static pid_t starter, broker;
static bool is_silent;
static cpu_set_t anywhere, here; /* where the broker was when the starter was forked, and where it is to be now */

int starter_add(enum part_kind kind, char *const argv[], struct identity_to_run_as as)
{
    int words = 0;
    while (argv[words] != NULL)
        words++;
    parts = realloc(parts, (size_t)(parts_count + 1) * sizeof *parts);
    char **copy = parts == NULL ? NULL : calloc((size_t)words + 1, sizeof *copy);
    if (copy == NULL)
        abort();
    for (int i = 0; i < words; i++)
        if ((copy[i] = strdup(argv[i])) == NULL)
            abort();
    parts[parts_count] = (struct part){.kind = kind, .argv = copy, .as = as};
    return parts_count++;
}

/* ---- what will be the part ---- */

/* Below the broker, which has to be able to end it, and above all that is granted. */
static void step_down(void)
{
    struct sched_param param;
    if (sched_getscheduler(0) != SCHED_FIFO || sched_getparam(0, &param) != 0)
        return;
    param.sched_priority--;
    (void)sched_setparam(0, &param);
}

static bool arrange(enum part_kind kind, int in, int out, int keep)
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
    if (dup2(in, STDIN_FILENO) < 0 || dup2(null >= 0 && kind == PART_HELPER ? null : out, STDOUT_FILENO) < 0 || chdir("/") != 0)
        return false; /* the helper has nothing to say there */
    if (keep >= 0 && (keep = dup2(keep, 3)) < 0)
        return false;
    close_range(keep >= 0 ? 4 : 3, ~0U, 0);
    return true;
}

static void run(const struct part *part, int in, int out, int keep)
{
    static char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL};
    if (!arrange(part->kind, in, out, keep))
        _exit(126);
    if (part->kind != PART_HELPER) {
        step_down();
        if (part->kind == PART_PLUGIN)
            confine_resources();
        if (!confine_for_good() || (geteuid() == 0 && !confine_to_user(part->as.uid, part->as.gid)))
            _exit(126);
        confine_writes();
        if (part->kind == PART_PLUGIN && !confine_program())
            _exit(126);
    }
    execve(part->argv[0], part->argv, environment);
    _exit(errno == ENOENT ? 127 : 126);
}

/* ---- the starter ---- */

static void end(struct part *part)
{
    if (part->pid == 0)
        return;
    if (kill(-part->pid, SIGKILL) != 0)
        (void)kill(part->pid, SIGKILL); /* it had not come to setsid yet */
    part->pid = 0;
}

/* Who has been given another place by somebody else keeps that; and where one may not go it stays elsewhere, and is only slower. */
static void place(pid_t pid, const cpu_set_t *before)
{
    cpu_set_t now;
    if (pid > 0 && sched_getaffinity(pid, sizeof now, &now) == 0 && CPU_EQUAL(&now, before))
        (void)sched_setaffinity(pid, sizeof here, &here);
}

static void place_all(int cpu)
{
    const cpu_set_t before = here;
    here = anywhere;
    if (cpu >= 0) {
        CPU_ZERO(&here);
        CPU_SET((size_t)cpu, &here);
    }
    if (getppid() == broker) /* it has not ended meanwhile */
        place(broker, &before);
    for (int i = 0; i < parts_count; i++)
        place(parts[i].pid, &before);
}

static void start(struct part *part, const int fds[DESCRIPTORS])
{
    end(part); /* its end may have been an order that did not get here */
    if (fds[0] < 0 || fds[1] < 0)
        return;
    pid_t pid = fork();
    if (pid == 0)
        run(part, fds[0], fds[1], fds[2]);
    part->pid = pid > 0 ? pid : 0;
    place(part->pid, &anywhere);
}

static bool is_running(pid_t pid)
{
    for (int i = 0; i < parts_count; i++)
        if (parts[i].pid == pid)
            return true;
    return false;
}

/* One that has ended by itself stays until the broker has noticed. */
static void reap(void)
{
    siginfo_t info;
    pid_t waits = 0;
    for (;;) {
        info.si_pid = 0;
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 || info.si_pid == waits)
            return;
        if (is_running(info.si_pid))
            waits = info.si_pid;
        else
            (void)waitpid(info.si_pid, NULL, WNOHANG);
    }
}

/* What parts get, or are started and ended with. */
static bool keep_powers(void)
{
    enum { END_OF_LIST = -1 };
    const int powers[] = {CAP_SYS_NICE, confine_perf_power(), CAP_DAC_OVERRIDE, CAP_IPC_LOCK, CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_KILL,
                          confine_proc_is_hidden() ? CAP_SYS_PTRACE : END_OF_LIST, END_OF_LIST};
    return confine_powers(powers);
}

static bool is_sane(const struct order *order)
{
    if (order->what == PLACE)
        return order->part >= -1 && order->part < CPU_SETSIZE;
    return order->part >= 0 && order->part < parts_count;
}

static bool obey(int socket)
{
    struct order order;
    int fds[DESCRIPTORS];
    ssize_t got = receive_with_fds(socket, &order, sizeof order, fds, DESCRIPTORS);
    bool sane = got == (ssize_t)sizeof order && is_sane(&order);
    if (sane && order.what == PLACE)
        place_all(order.part);
    else if (sane && order.what == START)
        start(&parts[order.part], fds);
    else if (sane && order.what == END)
        end(&parts[order.part]);
    for (int i = 0; i < DESCRIPTORS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return got > 0 || (got < 0 && is_of_the_moment(errno));
}

static void serve(int socket)
{
    sigset_t children;
    struct signalfd_siginfo info;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    int ends = signalfd(-1, &children, SFD_NONBLOCK | SFD_CLOEXEC);
    struct pollfd both[2] = {{.fd = socket, .events = POLLIN}, {.fd = ends, .events = POLLIN}};
    (void)prctl(PR_SET_NAME, "rtf-starter");
    (void)sched_getaffinity(0, sizeof anywhere, &anywhere);
    here = anywhere;
    if (geteuid() == 0 && !keep_powers())
        _exit(126);
    (void)memory_lock(MCL_ONFAULT); /* a fork has not inherited that */
    bool open = ends >= 0;
    while (open) {
        if (poll(both, 2, -1) < 0 && errno != EINTR)
            break;
        if (both[0].revents != 0)
            open = obey(socket);
        while (read(ends, &info, sizeof info) > 0)
            ;
        reap();
    }
    for (int i = 0; i < parts_count; i++)
        if (parts[i].kind != PART_HELPER)
            end(&parts[i]);
    _exit(0);
}

/* Who has started the broker waits for the end of what it was given. */
static void let_go_of_caller(void)
{
    int null = is_silent ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        (void)dup2(null, fd);
    if (null >= 0)
        close(null);
}

bool starter_fork(bool silent, struct source *source)
{
    int ends[2];
    is_silent = silent;
    broker = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    starter = fork();
    if (starter == 0) {
        if (dup2(ends[1], 3) < 0)
            _exit(126);
        close_range(4, ~0U, 0);
        let_go_of_caller();
        serve(3);
    }
    close(ends[1]);
    if (starter < 0) {
        close(ends[0]);
        return false;
    }
    to_starter = ends[0];
    return loop_add(to_starter, EPOLLIN, source);
}

/* ---- the broker's side ---- */

static bool tell(const struct order *order, const int *fds, int count)
{
    bool sent;
    int tries = 0;
    do
        sent = send_with_fds(to_starter, order, sizeof *order, fds, count, MSG_NOSIGNAL);
    while (!sent && is_of_the_moment(errno) && ++tries < MOMENT_TRIES);
    return sent;
}

bool starter_start(int part, int in, int out, int keep)
{
    const struct order order = {START, part};
    const int fds[DESCRIPTORS] = {in, out, keep};
    return tell(&order, fds, keep >= 0 ? 3 : 2);
}

void starter_end(int part)
{
    const struct order order = {END, part};
    (void)tell(&order, NULL, 0);
}

void starter_place(int cpu)
{
    static int last = -1;
    const struct order order = {PLACE, cpu};
    if (cpu != last && tell(&order, NULL, 0))
        last = cpu;
}

void starter_stop(void)
{
    if (to_starter < 0)
        return;
    close(to_starter);
    to_starter = -1;
    while (waitpid(starter, NULL, 0) < 0 && errno == EINTR)
        ;
}
