#include "locked.h"
#include "moment.h"
#include "starter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uthash.h>

#include "confine.h"
#include "pass.h"
#include "place.h"
#include "powers.h"
#include "run-directory.h"
#include "spool.h"

struct part {
    enum part_kind kind;
    char **argv;
    struct identity_to_run_as as;
    pid_t pid; /* known to the starter only; 0: not running. Not waited for before it is ended, so the number stays its. */
    timer_t timer; /* on its CPU time; where is_timed */
    bool is_timed;
};

struct order {
    enum { START, END, PLACE, START_READER, END_READER } what;
    int part;  /* PLACE: a CPU, or -1; of readers: the slot */
    uid_t uid; /* START_READER */
};
enum { DESCRIPTORS = 3 };

static struct part *parts;
static int parts_count, to_starter = -1;

/* A reader runs above all that is granted, and its user decides how much it has to do. So of READER_BUDGET of CPU time, as the kernel's tick counts
 * it, it is ordinary for READER_PAUSE: then what it does costs others no more of their reservations than its user could by himself. */
enum { READER_BUDGET = 5000000, READER_PAUSE = 100000000, READER_SIGNAL = 0x40000000 }; /* ns; READER_SIGNAL: and the slot, in a timer's value */
struct reader_part {
    pid_t pid; /* as struct part's */
    timer_t timer;
    bool is_timed;
    struct timer ordinary; /* set: until then it is */
    UT_hash_handle hh; /* by pid, if it is not 0 */
};
static struct reader_part **readers; /* by slot */
static int readers_count;
static struct reader_part *running; /* by pid */
static pid_t starter, broker;
static bool is_silent;
static int run_directory = -1; /* the starter's, for it ends last, and under no rules for files */
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

static bool confines_itself(enum part_kind kind)
{
    return kind == PART_HELPER || kind == PART_NET || kind == PART_DISK || kind == PART_GUARD || kind == PART_ADOPTER;
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
    if (dup2(in, STDIN_FILENO) < 0 || dup2(null >= 0 && confines_itself(kind) ? null : out, STDOUT_FILENO) < 0 || chdir("/") != 0)
        return false; /* they have nothing to say there */
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
    if (part->kind != PART_HELPER && part->kind != PART_GUARD && !step_down())
        _exit(126);
    if (part->kind == PART_PLUGIN)
        be_ended_first();
    if (part->kind == PART_LOOKUP || part->kind == PART_PLUGIN) {
        if (!confine_for_good() || (geteuid() == 0 && !confine_to_user(part->as.uid, part->as.gid)))
            _exit(126);
        /* After the change of user: where that takes a process over its limit, execve(2) fails, and others may have that uid, such as readers. */
        if (part->kind == PART_PLUGIN)
            confine_resources();
        confine_writes();
        if (part->kind == PART_PLUGIN && !confine_program())
            _exit(126);
    }
    execve(part->argv[0], part->argv, environment);
    _exit(errno == ENOENT ? 127 : 126);
}

/* How much a reader has to keep in mind is for its user to say. It is locked, and part of what all parts may have together: when that is used up, it is
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
    const struct part *part;
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

/* What it needs to be for that it asks for itself, before the first byte from anybody; and its own rank is below the broker's. Runs in the starter's
 * memory, while the starter waits: it may change what is the process's, and nothing else. */
static int run_reader(void *start)
{
    const struct new_reader *reader = start;
    char owner[16], own_uid[16], own_gid[16];
    char *const argv[] = {reader->part->argv[0], owner, own_uid, own_gid, NULL};
    static char *const environment[] = {"LC_ALL=C", NULL};
    snprintf(owner, sizeof owner, "%u", reader->uid);
    snprintf(own_uid, sizeof own_uid, "%u", reader->part->as.uid);
    snprintf(own_gid, sizeof own_gid, "%u", reader->part->as.gid);
    if (arrange_reader(reader))
        execve(reader->part->argv[0], argv, environment);
    _exit(errno == ENOENT ? 127 : 126);
}

/* A user whose reader does not run waits for its start: as vfork(2), for a copy of what the starter has locked takes longer than all else that the
 * kernel does to start a program. */
static pid_t fork_reader(const struct new_reader *reader)
{
    static char stack[16384] __attribute__((aligned(64)));
    return clone(run_reader, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)reader);
}

/* ---- the starter ---- */

/* A plugin runs above all that is granted, and has nothing to do when nothing is asked: for each PART_USES of CPU time that it
 * uses the kernel sends a signal, and the broker knows whether somebody had asked. Who sleeps costs nothing. */
static void time_it(struct part *part)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = (int)(part - parts)};
    const struct itimerspec each = {.it_value.tv_nsec = PART_USES, .it_interval.tv_nsec = PART_USES};
    clockid_t clock;
    part->is_timed = part->kind == PART_PLUGIN && part->pid > 0 && clock_getcpuclockid(part->pid, &clock) == 0 &&
                     timer_create(clock, &event, &part->timer) == 0;
    if (part->is_timed)
        (void)timer_settime(part->timer, 0, &each, NULL);
}

/* Timers may have been late: so many times the time it is, and the broker may be behind with reading. */
static void tell_used(int socket, const struct signalfd_siginfo *info)
{
    if (info->ssi_int < 0 || info->ssi_int >= parts_count || !parts[info->ssi_int].is_timed)
        return;
    const struct part_used used = {.part = info->ssi_int, .at = monotonic_now(), .nanoseconds = (int64_t)PART_USES * (1 + info->ssi_overrun)};
    (void)send(socket, &used, sizeof used, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void kill_it(pid_t *pid)
{
    if (*pid == 0)
        return;
    if (kill(-*pid, SIGKILL) != 0)
        (void)kill(*pid, SIGKILL); /* it had not come to setsid yet */
    *pid = 0;
}

static void end(struct part *part)
{
    if (part->is_timed)
        (void)timer_delete(part->timer);
    part->is_timed = false;
    kill_it(&part->pid);
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
        if (parts[i].kind != PART_GUARD)
            place(parts[i].pid, &before);
    for (int i = 0; i < readers_count; i++)
        place(readers[i]->pid, &before);
}

/* Again each time: somebody may have removed it. */
static void hold_run_directory(void)
{
    const int before = run_directory;
    run_directory = run_directory_hold();
    if (before >= 0)
        close(before);
}

static void start(struct part *part, const int fds[DESCRIPTORS])
{
    end(part); /* its end may have been an order that did not get here */
    if (fds[0] < 0 || fds[1] < 0)
        return;
    if (part->kind == PART_HELPER)
        hold_run_directory();
    pid_t pid = fork();
    if (pid == 0)
        run(part, fds[0], fds[1], fds[2]);
    part->pid = pid > 0 ? pid : 0;
    time_it(part);
    if (part->kind != PART_GUARD)
        place(part->pid, &anywhere);
}

static const struct part *part_of_kind(enum part_kind kind)
{
    for (int i = 0; i < parts_count; i++)
        if (parts[i].kind == kind)
            return &parts[i];
    return NULL;
}

/* Below the broker; or as any program, but one that preempts nobody when it is woken: so it finds more to do at once. */
static void rank_reader(pid_t pid, bool ordinary)
{
    struct sched_param param = {0};
    const bool ranked = sched_getscheduler(0) == SCHED_FIFO && sched_getparam(0, &param) == 0;
    param.sched_priority = ordinary ? 0 : param.sched_priority - 1;
    if (ranked && pid > 0)
        (void)sched_setscheduler(pid, (ordinary ? SCHED_BATCH : SCHED_FIFO) | SCHED_RESET_ON_FORK, &param);
}

static void arm(const struct reader_part *reader)
{
    static const struct itimerspec once = {.it_value.tv_nsec = READER_BUDGET};
    if (reader->is_timed)
        (void)timer_settime(reader->timer, 0, &once, NULL);
}

static void give_budget(int slot)
{
    struct reader_part *reader = readers[slot];
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = READER_SIGNAL + slot};
    clockid_t clock;
    reader->is_timed = reader->pid > 0 && clock_getcpuclockid(reader->pid, &clock) == 0 && timer_create(clock, &event, &reader->timer) == 0;
    arm(reader);
}

static void end_reader(struct reader_part *reader)
{
    if (reader->is_timed)
        (void)timer_delete(reader->timer);
    reader->is_timed = false;
    timer_end(&reader->ordinary);
    if (reader->pid != 0)
        HASH_DEL(running, reader);
    kill_it(&reader->pid);
}

static void take_budget(int slot)
{
    if (slot >= readers_count || !readers[slot]->is_timed || readers[slot]->ordinary.at != 0)
        return;
    rank_reader(readers[slot]->pid, true);
    timer_set(&readers[slot]->ordinary, monotonic_now() + READER_PAUSE);
}

static void give_rank_back(struct timer *timer)
{
    const struct reader_part *reader = container_of(timer, struct reader_part, ordinary);
    rank_reader(reader->pid, false);
    arm(reader);
}

static bool have_slot(int slot)
{
    const int count = slot + 64;
    if (slot < readers_count)
        return true;
    struct reader_part **more = realloc(readers, (size_t)count * sizeof(struct reader_part *));
    if (more == NULL)
        return false;
    readers = more;
    for (; readers_count < count; readers_count++)
        if ((readers[readers_count] = calloc(1, sizeof **readers)) == NULL)
            return false;
    return true;
}

static void start_reader(int slot, uid_t uid, const int fds[DESCRIPTORS])
{
    const struct part *part = part_of_kind(PART_READER);
    if (!have_slot(slot))
        return;
    struct reader_part *reader = readers[slot];
    end_reader(reader);
    reader->ordinary.due = give_rank_back;
    if (part == NULL || fds[0] < 0 || fds[1] < 0)
        return;
    const pid_t pid = fork_reader(&(struct new_reader){part, uid, {fds[0], fds[1], fds[2]}});
    reader->pid = pid > 0 ? pid : 0;
    if (reader->pid != 0)
        HASH_ADD(hh, running, pid, sizeof reader->pid, reader);
    place(reader->pid, &anywhere);
    give_budget(slot);
}

static bool is_running(pid_t pid)
{
    const struct reader_part *reader;
    HASH_FIND(hh, running, &pid, sizeof pid, reader);
    if (reader != NULL)
        return true;
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
    enum { END_OF_LIST = -1, MOST = 24 };
    const bool has_net = part_of_kind(PART_NET) != NULL, sees = has_net || confine_proc_is_hidden();
    const int powers[MOST] = {CAP_SYS_NICE, confine_perf_power(), CAP_DAC_OVERRIDE, CAP_IPC_LOCK, CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_KILL,
                          CAP_CHOWN, CAP_FOWNER, CAP_FSETID,
                          /* the network helper's, and only where there is one: */
                          has_net ? CAP_NET_ADMIN : CAP_SYS_NICE, has_net ? CAP_BPF : CAP_SYS_NICE, has_net ? CAP_DAC_READ_SEARCH : CAP_SYS_NICE,
                          sees ? CAP_SYS_PTRACE : END_OF_LIST, END_OF_LIST};
    return confine_powers(powers);
}

static bool is_sane(const struct order *order)
{
    if (order->what == PLACE)
        return order->part >= -1 && order->part < CPU_SETSIZE;
    if (order->what == START_READER || order->what == END_READER)
        return order->part >= 0 && order->part < READERS_MAX;
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
    else if (sane && order.what == START_READER)
        start_reader(order.part, order.uid, fds);
    else if (sane && order.what == END_READER && order.part < readers_count)
        end_reader(readers[order.part]);
    for (int i = 0; i < DESCRIPTORS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return got > 0 || (got < 0 && is_of_the_moment(errno));
}

/* Whoever waits for the broker's end may want to unmount its spool then. But one that hangs in a file system is waited for no longer than so long. */
static void wait_for_end(pid_t pid, const sigset_t *children, int64_t until)
{
    while (pid > 0 && waitpid(pid, NULL, WNOHANG) == 0) {
        const int64_t left = until - monotonic_now();
        const struct timespec at_most = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        if (left <= 0 || sigtimedwait(children, NULL, &at_most) < 0)
            return;
    }
}

/* Not those that end at end-of-file: the broker, which waits for us, is the other end. The others are waited for: left to be reaped by init, they
 * would go on counting among the processes of the plugins' user, of which he may have so many (RLIMIT_NPROC). */
static void end_all(const sigset_t *children)
{
    const int64_t until = monotonic_now() + 1000000000;
    for (int i = 0; i < parts_count; i++) {
        const pid_t pid = parts[i].pid;
        const enum part_kind kind = parts[i].kind;
        if (kind == PART_HELPER || kind == PART_NET || kind == PART_DISK || kind == PART_GUARD || kind == PART_LOG)
            continue;
        end(&parts[i]);
        wait_for_end(pid, children, until);
    }
    for (int i = 0; i < readers_count; i++) {
        const pid_t reader = readers[i]->pid;
        end_reader(readers[i]);
        wait_for_end(reader, children, until);
    }
}

static void serve(int socket, int state)
{
    sigset_t signals;
    struct signalfd_siginfo info;
    struct timespec left;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    int ends = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
    struct pollfd both[2] = {{.fd = socket, .events = POLLIN}, {.fd = ends, .events = POLLIN}};
    (void)prctl(PR_SET_NAME, "rtf-starter");
    (void)sched_getaffinity(0, sizeof anywhere, &anywhere);
    here = anywhere;
    if (geteuid() == 0 && !keep_powers())
        _exit(126);
    (void)memory_lock(MCL_ONFAULT); /* a fork has not inherited that */
    bool open = ends >= 0;
    while (open) {
        if (ppoll(both, 2, timers_left(&left), NULL) < 0 && errno != EINTR)
            break;
        timers_run(); /* the starter's own: when it was forked none was set */
        if (both[0].revents != 0)
            open = obey(socket);
        while (read(ends, &info, sizeof info) > 0)
            if (info.ssi_signo == (uint32_t)SIGRTMIN && info.ssi_int >= READER_SIGNAL)
                take_budget(info.ssi_int - READER_SIGNAL);
            else if (info.ssi_signo == (uint32_t)SIGRTMIN)
                tell_used(socket, &info);
        reap();
    }
    end_all(&signals);
    if (state >= 0 && getppid() == broker) /* else the next one may be at it already */
        place_end(state);
    run_directory_leave(run_directory);
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
        const int state = spool.state < 0 ? -1 : fcntl(spool.state, F_DUPFD_CLOEXEC, 5), socket = fcntl(ends[1], F_DUPFD_CLOEXEC, 5);
        if (dup2(socket, 3) < 0 || (state >= 0 && dup3(state, 4, O_CLOEXEC) < 0))
            _exit(126);
        close_range(state >= 0 ? 5 : 4, ~0U, 0);
        let_go_of_caller();
        serve(3, state >= 0 ? 4 : -1);
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
    const struct order order = {START, part, 0};
    const int fds[DESCRIPTORS] = {in, out, keep};
    return tell(&order, fds, keep >= 0 ? 3 : 2);
}

int starter_hear(struct part_used *used)
{
    struct iovec whole = {.iov_base = used, .iov_len = sizeof *used};
    struct msghdr message = {.msg_iov = &whole, .msg_iovlen = 1};
    ssize_t got = recvmsg(to_starter, &message, MSG_DONTWAIT);
    if (got == (ssize_t)sizeof *used)
        return 1;
    return got < 0 && is_of_the_moment(errno) ? 0 : -1;
}

void starter_end(int part)
{
    const struct order order = {END, part, 0};
    (void)tell(&order, NULL, 0);
}

bool starter_start_reader(int slot, uid_t uid, int socket, int directory, int inotify)
{
    const struct order order = {START_READER, slot, uid};
    const int fds[DESCRIPTORS] = {socket, directory, inotify};
    return tell(&order, fds, inotify >= 0 ? 3 : 2);
}

void starter_end_reader(int slot)
{
    const struct order order = {END_READER, slot, 0};
    (void)tell(&order, NULL, 0);
}

void starter_place(int cpu)
{
    static int last = -1;
    const struct order order = {PLACE, cpu, 0};
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
