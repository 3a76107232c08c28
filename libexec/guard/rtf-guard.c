/* rtf-guard: holds real-time threads to their runtimes where the kernel does not. The broker starts
 * `rtf-guard --serve TRACEPOINT DOMAINS [processes]` with a SOCK_SEQPACKET socket as standard
 * input. Each datagram is one paragraph (lib/paragraph.h).
 *
 *     op=begin id tid started_by budget every + attributes, a pidfd, and an event
 *                               guard this thread; budget= is its runtime and every= its
 *                               period, in us; again=1: an earlier guard may have left
 *                               the thread suspended; whole=1: the runtime is for all
 *                               threads of the thread's process together (process-group.h), and
 *                               owner= is the uid of the process's owner
 *     op=end id tid started_by  do not make this thread real-time any more, because the attach
 *                               helper acts on the thread from now on; detach=1: the helper makes
 *                               the thread ordinary
 *     op=ordinary id tid started_by   look whether the thread, which the attach helper has made
 *                               ordinary, is lent a rank
 *     op=leave id               end all suspensions, except of threads that wait for a lock
 *                               and lend, and change no thread any more
 *     op=yield id; op=rise id   run as FIFO for now; run as SCHED_DEADLINE (guard-rank.h)
 *     op=listen id, and a pipe  read promotions from this pipe (promotions.h)
 *     op=look id                read that pipe now
 *     op=loop id tid, and an event
 *                               free this process of rtf when it loops in the kernel (kernel-loop.h)
 *
 * The guard answers end, leave and rise, and each request that fails, with id= and answer=ok|no.
 * Unasked it sends event=suspended|lent|lost|asleep|holds tid= started_by= times= (how often), and
 * event=blind|beneath reason=, see report_unbounded_lending; event=loop tid=; and event=miscount: a
 * thread has ended while the guard made it ordinary, and op=repair of rtf-attach is due.
 *
 * The guard is a program of its own, not part of the attach helper: in the middle of an attachment
 * the attach helper waits for the kernel, for up to tens of ms, and during this time a runaway
 * thread would run on. The guard waits only for its next event, runs above the broker, and can do
 * nothing but schedule. When the broker ends without op=leave, the guard acts as after op=leave,
 * and ends. */
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "boost-reports.h"
#include "inheritance-events.h"
#include "lending.h"
#include "unreported-boosts.h"
#include "clock.h"
#include "confine.h"
#include "demote.h"
#include "promotions.h"
#include "guard-rank.h"
#include "guarded-threads.h"
#include "lock-memory.h"
#include "kernel-loop.h"
#include "paragraph.h"
#include "send-fds.h"
#include "capabilities.h"
#include "units.h"

enum { EVENTS = 64 };

/* ns. The least time between two reports on one thread. */
static const int64_t report_pause = INT64_C(10000000000);

static int epoll = -1;

/* The data of an epoll event. A positive number is the id of the thread whose budget event is
 * ready. */
enum { FROM_BROKER = 0, FROM_PROMOTIONS = -1, FROM_INHERITANCE = -2, FROM_LOOPS = -3 };
/* FROM_LOOPS minus a number: the event of the watched process with this number is ready */
/* added to the id of a process's first thread: the event that records started threads is ready */
#define OF_STARTS (INT64_C(1) << 32)

static bool wait_on(int fd, int64_t as)
{
    struct epoll_event wanted = {.events = EPOLLIN, .data.u64 = (uint64_t)as};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted) == 0;
}

static bool wait_on_group(int fd, int64_t as, bool starts)
{
    return wait_on(fd, starts ? as | OF_STARTS : as);
}

/* on = false: the kernel's records of started threads do not wake the guard. The guard is to look
 * for new threads of this process anyway. */
static void listen_to_starts(const struct guarded *guarded, bool on)
{
    struct epoll_event wanted = {.events = on ? EPOLLIN : 0,
                                 .data.u64 = (uint64_t)(guarded->tid | OF_STARTS)};
    (void)epoll_ctl(epoll, EPOLL_CTL_MOD, process_group_starts(guarded->group), &wanted);
}

/* ---- to the broker ---- */

static bool send_out(struct paragraph_output *output)
{
    paragraph_close(output);
    bool sent =
        send_with_fd(STDIN_FILENO, output->data, output->length, -1, MSG_NOSIGNAL | MSG_DONTWAIT);
    paragraph_drop(output, output->length);
    return sent;
}

static bool report(const struct guarded *guarded, const char *what)
{
    static struct paragraph_output output;
    paragraph_add(&output, "event", what);
    paragraph_add_number(&output, "tid", (uint64_t)guarded->tid);
    paragraph_add_number(&output, "started_by", guarded->started_by);
    paragraph_add_number(&output, "times", guarded->unreported);
    return send_out(&output);
}

/* Reports why lending is not bounded. "blind": the kernel does not report boosts. "beneath":
 * boosted threads may keep the guard from running. */
static bool report_unbounded_lending(const char *event, int error)
{
    static struct paragraph_output output;
    paragraph_add(&output, "event", event);
    paragraph_add(&output, "reason", strerror(error));
    return send_out(&output);
}

static bool has_miscounted; /* the kernel's count of SCHED_DEADLINE threads may be too low */

static void note_miscount(void)
{
    has_miscounted = true;
}

/* The guard may not fork, so another program repairs the kernel's count (demote.h). */
static void report_miscount(void)
{
    static struct paragraph_output output;
    paragraph_add(&output, "event", "miscount");
    if (send_out(&output))
        has_miscounted = false;
}

static void rise(void)
{
    static bool is_told;
    if (!guard_rank_rise() && !is_told)
        is_told = report_unbounded_lending("beneath", errno);
}

/* Reports the first suspension at once; later ones at most every report_pause, with their
 * number. */
static void report_suspended(struct guarded *guarded, int64_t now)
{
    if (guarded->unreported == 0 || now < guarded->report_at ||
        !report(guarded, guarded->suspended_for_lending ? "lent" : "suspended"))
        return;
    guarded->report_at = now + report_pause;
    guarded->unreported = 0;
    guarded->suspended_for_lending = false;
}

/* ---- from the broker ---- */

static bool named_thread(const struct paragraph *request, pid_t *tid, uint64_t *started_by)
{
    uint64_t number;
    if (paragraph_get_number(request, "tid", INT32_MAX, &number) != 1 || number == 0 ||
        paragraph_get_number(request, "started_by", UINT64_MAX, started_by) != 1)
        return false;
    *tid = (pid_t)number;
    return true;
}

/* Reads microseconds and converts them to ns. False: the key is missing, or is not a time above
 * 0. */
static bool get_time(const struct paragraph *request, const char *key, int64_t *ns)
{
    uint64_t us;
    const bool got = paragraph_get_number(request, key, INT32_MAX, &us) == 1 && us > 0;
    *ns = got ? (int64_t)us * 1000 : 0;
    return got;
}

/* Opens the group of the process, if the request has whole=1. False: the request has whole=1, but
 * owner= is missing, or the group cannot be opened. */
static bool open_group(const struct paragraph *request, struct guarded *wanted)
{
    uint64_t owner;
    if (paragraph_get(request, "whole") == NULL)
        return true;
    if (paragraph_get_number(request, "owner", UINT32_MAX, &owner) == 1)
        wanted->group = process_group_open(wanted->tid, wanted->started_by, (uid_t)owner,
                                           &wanted->granted, wanted->window.runtime);
    return wanted->group != NULL;
}

static const char *begin(const struct paragraph *request, int fds[2])
{
    pid_t tid;
    uint64_t started_by;
    int64_t runtime, period;
    struct attributes granted;
    const char *why = NULL;
    if (!named_thread(request, &tid, &started_by) || !get_time(request, "budget", &runtime) ||
        !get_time(request, "every", &period) || !attributes_get(request, "", &granted) ||
        !policy_is_real_time(granted.policy) || fds[0] < 0)
        return "the request begin lacks tid, started_by, budget, every, attributes or pidfd";
    struct guarded wanted = {.tid = tid,
                             .started_by = started_by,
                             .granted = granted,
                             .pidfd = fds[0],
                             .event = fds[1],
                             .window = {.runtime = runtime, .period = period}};
    if (granted.policy == POLICY_DEADLINE) {
        promotions_drain();
        wanted.counted_until = promotions_forget(tid);
    }
    if (!open_group(request, &wanted))
        return "the guard cannot open the group of the process whose threads share the runtime";
    struct guarded *guarded = guarded_begin(&wanted, paragraph_get(request, "again") != NULL, &why);
    const int event = fds[1];
    fds[0] = fds[1] = -1;
    if (granted.policy == POLICY_DEADLINE)
        rise();
    if (guarded == NULL)
        return why;
    if ((event >= 0 && !wait_on(event, tid)) ||
        (guarded->group != NULL && !process_group_wait(guarded->group, wait_on_group, tid))) {
        guarded_end(guarded, false);
        return "the guard cannot wait for the perf event";
    }
    return NULL;
}

static const char *listen_to(int fd)
{
    promotions_from(fd);
    return !inheritance_events_may_fail() || wait_on(fd, FROM_PROMOTIONS)
               ? NULL
               : "the guard cannot wait for the pipe";
}

static const char *watch_loop(const struct paragraph *request, int fds[2])
{
    uint64_t process;
    const int event = fds[0];
    if (event < 0 || paragraph_get_number(request, "tid", INT32_MAX, &process) != 1 || process == 0)
        return "the request loop lacks tid or event";
    fds[0] = -1;
    const int number = loop_watch((pid_t)process, event, monotonic_now());
    if (number >= 0)
        (void)wait_on(event, FROM_LOOPS - number);
    return NULL;
}

static void end(const struct paragraph *request)
{
    pid_t tid;
    uint64_t started_by;
    struct guarded *guarded = named_thread(request, &tid, &started_by) ? guarded_find(tid) : NULL;
    if (guarded != NULL && guarded->started_by == started_by)
        guarded_end(guarded, paragraph_get(request, "detach") != NULL);
}

static void look_at(const struct paragraph *request)
{
    pid_t tid;
    uint64_t started_by;
    if (named_thread(request, &tid, &started_by) && thread_is(tid, started_by))
        boost_reports_look_at(tid);
}

static void leave_all(void)
{
    struct guarded *guarded;
    while ((guarded = guarded_first()) != NULL)
        guarded_leave(guarded);
}

static bool serve_one(const struct paragraph *request, int fds[2])
{
    static struct paragraph_output output;
    const char *op = paragraph_get(request, "op"), *id = paragraph_get(request, "id"), *why = NULL;
    if (op == NULL || id == NULL)
        return false;
    if (strcmp(op, "begin") == 0)
        why = begin(request, fds);
    else if (strcmp(op, "listen") == 0) {
        why = listen_to(fds[0]);
        fds[0] = -1;
    } else if (strcmp(op, "look") == 0)
        promotions_drain();
    else if (strcmp(op, "loop") == 0)
        why = watch_loop(request, fds);
    else if (strcmp(op, "yield") == 0)
        guard_rank_yield();
    else if (strcmp(op, "rise") == 0)
        rise();
    else if (strcmp(op, "end") == 0)
        end(request);
    else if (strcmp(op, "ordinary") == 0)
        look_at(request);
    else if (strcmp(op, "leave") == 0)
        leave_all();
    else
        why = "unknown op";
    if (why == NULL && strcmp(op, "end") != 0 && strcmp(op, "leave") != 0 &&
        strcmp(op, "rise") != 0)
        return true; /* the broker does not wait for an answer */
    paragraph_add(&output, "id", id);
    paragraph_add(&output, "answer", why == NULL ? "ok" : "no");
    if (why != NULL)
        paragraph_add(&output, "reason", why);
    return send_out(&output);
}

/* Takes a request of the broker. False: the broker has ended, or has sent nonsense. */
static bool take_request(void)
{
    static struct paragraph_input input;
    char bytes[PARAGRAPH_BYTES];
    struct paragraph request;
    const char *why;
    int fds[2];
    const ssize_t got = receive_with_fds(STDIN_FILENO, bytes, sizeof bytes, fds, 2);
    if (got <= 0)
        return got < 0 && (errno == EINTR || errno == EAGAIN);
    const bool good = paragraph_feed(&input, bytes, (size_t)got) &&
                      paragraph_take(&input, &request, &why) == 1 && serve_one(&request, fds);
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return good;
}

/* ---- from the kernel ---- */

static void take_loop_event(const struct epoll_event *ready, int64_t now)
{
    static struct paragraph_output output;
    static int64_t report_at;
    const int number = (int)(FROM_LOOPS - (int64_t)ready->data.u64);
    pid_t process;
    if ((ready->events & (EPOLLHUP | EPOLLERR)) != 0) {
        (void)epoll_ctl(epoll, EPOLL_CTL_DEL, loop_event(number), NULL);
        loop_forget(number);
    } else if (loop_take_event(number, now, &process) && now >= report_at) {
        report_at = now + report_pause;
        paragraph_add(&output, "event", "loop");
        paragraph_add_number(&output, "tid", (uint64_t)process);
        (void)send_out(&output);
    }
}

static void take_budget_event(const struct epoll_event *ready, int64_t now)
{
    struct guarded *guarded = guarded_find((pid_t)(ready->data.u64 & ~(uint64_t)OF_STARTS));
    if (guarded == NULL || guarded->event < 0)
        return; /* no longer guarded */
    if ((ready->data.u64 & (uint64_t)OF_STARTS) != 0) {
        if (guarded->group != NULL) {
            listen_to_starts(guarded, false);
            guarded_started(guarded, now);
        }
        return;
    }
    if ((ready->events & (EPOLLHUP | EPOLLERR)) != 0) {
        (void)epoll_ctl(epoll, EPOLL_CTL_DEL, guarded->event, NULL);
        if (guarded_lose_counter(guarded))
            (void)report(guarded, "lost");
        return;
    }
    if (guarded->granted.policy == POLICY_DEADLINE) {
        boost_reports_overuse(guarded, now);
        return;
    }
    guarded_used_up(guarded, now);
    report_suspended(guarded, now);
}

/* Waits with the timeout of epoll_pwait2, not with a timerfd: with PREEMPT_RT a thread of the
 * kernel (ktimers) on the CPU that set a timerfd makes it fire, and a thread that is lent
 * SCHED_DEADLINE on that CPU keeps ktimers from running. The timer of a real-time thread's own
 * sleep fires in the interrupt (__hrtimer_init_sleeper). */
static int wait_for_events(struct epoll_event *ready)
{
    const int64_t of_boosts = lending_next_due(), of_windows = guarded_next_resume(),
                  of_starts = guarded_next_start(), of_loops = loop_next_due();
    int64_t due = of_boosts < of_windows ? of_boosts : of_windows;
    due = of_starts < due ? of_starts : due;
    due = of_loops < due ? of_loops : due;
    const int64_t now = due == INT64_MAX ? 0 : monotonic_now(), left = due > now ? due - now : 0;
    const struct timespec time = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    return epoll_pwait2(epoll, ready, EVENTS, due == INT64_MAX ? NULL : &time, NULL);
}

/* Waits for events, and takes them. The kernel's events come before the broker's requests: a user
 * who floods the spool must not gain time for real-time threads. */
static bool turn(void)
{
    struct epoll_event ready[EVENTS];
    struct guarded *lender, *sleeper, *starter, *holder;
    bool open = true;
    const int count = wait_for_events(ready);
    const int64_t now = monotonic_now();
    for (int i = 0; i < count; i++) {
        if (ready[i].data.u64 == (uint64_t)FROM_PROMOTIONS)
            unreported_boosts_expect_promotion(now);
        else if (ready[i].data.u64 == (uint64_t)FROM_INHERITANCE)
            lending_read_reports(now);
        else if ((int64_t)ready[i].data.u64 <= FROM_LOOPS)
            take_loop_event(&ready[i], now);
        else if (ready[i].data.u64 != FROM_BROKER)
            take_budget_event(&ready[i], now);
    }
    loop_resume_due(now);
    while ((lender = lending_suspend_due(now)) != NULL)
        report_suspended(lender, now);
    while ((sleeper = guarded_resume_due(now)) != NULL)
        (void)report(sleeper, "asleep");
    while ((starter = guarded_start_due(now)) != NULL) {
        listen_to_starts(starter, true);
        report_suspended(starter, now);
    }
    guarded_end_reclaims();
    while ((holder = guarded_next_holder()) != NULL)
        (void)report(holder, "holds");
    if (has_miscounted)
        report_miscount();
    for (int i = 0; i < count; i++)
        if (ready[i].data.u64 == FROM_BROKER)
            open = take_request();
    return open;
}

/* ---- set-up ---- */

/* Takes from the guard all rights that it does not need. hierarchy: the hierarchy of the groups of
 * processes; -1: there is none, and the guard needs no perf events of its own. */
static bool confine(int hierarchy)
{
    enum { END_OF_LIST = -1 };
    const bool hidden = confine_proc_is_hidden();
    const int powers[] = {CAP_SYS_NICE, CAP_IPC_LOCK,
                          hierarchy >= 0 ? capability_for_perf() : CAP_SYS_NICE,
                          hidden ? CAP_SYS_PTRACE : END_OF_LIST, END_OF_LIST};
    char groups[32];
    const struct confine_path files[] = {{"/proc", MAY_READ},
                                         {hierarchy >= 0 ? groups : NULL, MAY_READ},
                                         {0}};
    snprintf(groups, sizeof groups, "/proc/self/fd/%d", hierarchy);
    const char *const calls[] = {"sched_setattr",
                                 "sched_setscheduler",
                                 "sched_setaffinity",
                                 "sched_getattr",
                                 "sched_getscheduler",
                                 "sched_getparam",
                                 "sched_getaffinity",
                                 "getpriority",
                                 "epoll_pwait2",
                                 "epoll_ctl",
                                 "poll",
                                 "ppoll",
                                 "read",
                                 "pread64",
                                 "recvmsg",
                                 "sendmsg",
                                 "open",
                                 "openat",
                                 "close",
                                 "fstat",
                                 "newfstatat",
                                 "clock_gettime",
                                 "clock_getres",
                                 "clock_nanosleep",
                                 "nanosleep",
                                 "mmap",
                                 "munmap",
                                 "mremap",
                                 "brk",
                                 "madvise",
                                 "pidfd_open",
                                 "rt_sigreturn",
                                 "restart_syscall",
                                 "futex",
                                 "exit",
                                 "exit_group",
                                 "lseek",
                                 "write",
                                 hierarchy >= 0 ? "perf_event_open" : NULL,
                                 NULL};
    if (!confine_for_good() || !capabilities_keep(powers))
        return false;
    if (!hidden)
        (void)confine_files(files); /* the broker reports a kernel without Landlock */
    return confine_calls(calls);
}

int main(int argc, char **argv)
{
    cpu_set_t domains;
    int hierarchy = -1;
    if (argc < 4 || argc > 5 || strcmp(argv[1], "--serve") != 0 ||
        (argv[3][0] != '\0' && !parse_cpus(argv[3], &domains))) {
        fprintf(
            stderr,
            "rtf-guard: only the broker starts this program, as rtf-guard --serve TRACEPOINT DOMAINS [processes]\n");
        return EX_USAGE;
    }
    if (argv[3][0] == '\0')
        CPU_ZERO(&domains);
    demote_repair_by(note_miscount);
    guard_rank_begin(&domains);
    if (argc == 5)
        hierarchy = process_groups_open();
    (void)memory_lock(0);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!lending_open(argv[2], epoll, (uint64_t)FROM_INHERITANCE))
        (void)report_unbounded_lending("blind", errno);
    if (epoll < 0 || !wait_on(STDIN_FILENO, FROM_BROKER) || !confine(hierarchy)) {
        fprintf(stderr, "rtf-guard: %s\n", strerror(errno));
        return EX_OSERR;
    }
    while (turn())
        ;
    leave_all();
    return EX_OK;
}
