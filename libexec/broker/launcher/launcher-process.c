#include "launcher-process.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "confine.h"
#include "lock-memory.h"
#include "transient.h"
#include "children.h"
#include "send-fds.h"
#include "place.h"
#include "capabilities.h"
#include "register.h"
#include "timers.h"

/* If plugins.conf has enforce=process, the attach helper has one more argument (attach_prepare).
 * Then the launcher opens the cgroup hierarchy for the attach helper and the guard. */
static void open_hierarchy(void)
{
    const struct child *helper = children_of_kind(CHILD_HELPER);
    if (helper != NULL && helper->argv[1] != NULL && helper->argv[2] != NULL)
        child_open_hierarchy();
}

/* Keeps only the capabilities that children need, and the capabilities for starting and ending
 * children. */
static bool keep_powers(void)
{
    enum { END_OF_LIST = -1, MOST = 24 };
    const bool has_net = children_of_kind(CHILD_NET) != NULL,
               sees = has_net || confine_proc_is_hidden();
    const int powers[MOST] = {
        CAP_SYS_NICE, capability_for_perf(), CAP_DAC_OVERRIDE, CAP_IPC_LOCK, CAP_SYS_RESOURCE,
        CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_KILL, CAP_CHOWN, CAP_FOWNER, CAP_FSETID,
        /* these two are for the network helper, and only if a line of plugins.conf is for a
         * network: */
        has_net ? CAP_NET_ADMIN : CAP_SYS_NICE, has_net ? CAP_BPF : CAP_SYS_NICE,
        has_net ? CAP_DAC_READ_SEARCH : CAP_SYS_NICE, sees ? CAP_SYS_PTRACE : END_OF_LIST,
        END_OF_LIST};
    return capabilities_keep(powers);
}

static bool is_sane(const struct launcher_order *order)
{
    if (order->what == PLACE)
        return order->child >= -1 && order->child < CPU_SETSIZE;
    if (order->what == START_READER || order->what == END_READER)
        return order->child >= 0 && order->child < READERS_MAX;
    return children_has(order->child);
}

static bool obey(int socket, pid_t broker)
{
    struct launcher_order order;
    int fds[DESCRIPTORS];
    ssize_t got = receive_with_fds(socket, &order, sizeof order, fds, DESCRIPTORS);
    bool sane = got == (ssize_t)sizeof order && is_sane(&order);
    if (sane && order.what == PLACE)
        children_place(order.child, broker);
    else if (sane && order.what == START)
        children_start(order.child, fds);
    else if (sane && order.what == END)
        children_end(order.child);
    else if (sane && order.what == START_READER)
        children_start_reader(order.child, order.uid, fds);
    else if (sane && order.what == END_READER)
        children_end_reader(order.child);
    for (int i = 0; i < DESCRIPTORS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return got > 0 || (got < 0 && is_transient(errno));
}

/* Makes the launcher ordinary before it removes files and directories that brokers share. The
 * reason is a fault of ext4: a SCHED_FIFO process looped for ever in rmdir(2), because another
 * SCHED_FIFO process that was closing a file in this directory could not get the CPU
 * (contrib/kernels.md). */
static void become_ordinary(void)
{
    static const struct sched_param none;
    (void)sched_setscheduler(0, SCHED_OTHER, &none);
}

/* Removes the files that only a running broker needs. with_broker is false if the broker was
 * killed. Then the journal and its directory stay, because the next broker may use them already. */
static void leave(int state, bool with_broker)
{
    become_ordinary();
    if (state >= 0 && with_broker)
        place_end(state);
    register_tidy(with_broker);
    children_leave();
}

void launcher_serve(int socket, int state, pid_t broker)
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
    (void)prctl(PR_SET_NAME, "rtf-launcher");
    children_begin();
    open_hierarchy();
    if (geteuid() == 0 && !keep_powers())
        _exit(126);
    (void)memory_lock(MCL_ONFAULT); /* a fork does not inherit locked memory */
    bool open = ends >= 0;
    while (open) {
        if (ppoll(both, 2, timers_left(&left), NULL) < 0 && errno != EINTR)
            break;
        /* these are timers of the launcher itself, because the broker had no timers at the fork */
        timers_run();
        if (both[0].revents != 0)
            open = obey(socket, broker);
        while (read(ends, &info, sizeof info) > 0)
            if (info.ssi_signo == (uint32_t)SIGRTMIN)
                children_time_used(&info, socket);
        children_reap();
    }
    children_end_all(&signals);
    leave(state, getppid() == broker);
    _exit(0);
}
