/* rtf-attach(8): makes a thread real-time. A person calls it once from a command line; the broker
 * keeps `rtf-attach --serve` running, with a SOCK_SEQPACKET socket as standard input. Each datagram
 * is one paragraph (lib/paragraph.h). apply comes with a descriptor of the spec file: the helper
 * itself reads the spec's owner from the descriptor, and does not believe the broker. apply, adjust
 * and restore may also come with a pidfd of the thread, behind the spec if there is one. The broker
 * opened the pidfd when it had checked which thread has the id. started_by: see lib/thread.h.
 *
 *     op=apply   id tid started_by + attributes, spec   make real-time; it must be the spec owner's thread
 *     op=adjust  id tid started_by + attributes         other priority and CPUs, the same policy
 *     op=restore id tid started_by + attributes         give back these former attributes
 *     op=watch   id tid started_by watch                only answer with a descriptor, see below
 *     op=budget  id tid started_by budget               only answer with a descriptor, see below
 *     op=set     id by setting                          change a setting of the kernel for `by`: rt-limit or
 *                                                       hrtick (kernel-setting.h)
 *     op=unset   id by setting                          `by` does not need the change any more
 *     op=tick    id                                     does a timer end SCHED_DEADLINE runtimes (ok), or the
 *                                                       tick (no)? (tick-probe.h)
 *     op=probe   id cpus                                can SCHED_DEADLINE threads use all these CPUs?
 *     op=domains id by cpus                             make scheduling domains; without cpus=: remove
 *                                                       the domains of `by`
 *     op=sweep   id tid started_by group                remove what an ended thread left in its domain
 *     op=loop    id [tid started_by] budget             only answer, with pid= and a descriptor of
 *                                                       cpu_budget_open, for this process; without
 *                                                       tid=: for the helper itself
 *     op=repair  id                                     repair the kernel's count of SCHED_DEADLINE
 *                                                       threads (demote.h)
 *     op=give    id tid started_by process + extras     give the thread its extras: give-extras.h
 *
 * Where domains are in use, apply, adjust and restore take group=, the cpuset group that the thread
 * came from. apply takes move=process (the whole process goes into the domain), and awake=1: if the
 * thread sleeps, the answer is pending, and nothing is done.
 *
 * The answer has id=, answer=ok|pending|gone|no|busy, and reason= for no and busy.
 *
 *     ok        done; with after=: the kernel counts the former bandwidth for this many us more
 *     pending   the thread sleeps: apply again when it has woken; with after=: the thread is ordinary
 *               and has to stay in its domain; repeat the request after this many us (at most 10 s)
 *     gone      the thread has ended
 *     no        refused
 *     busy      refused now, because of what other threads hold; the same request may succeed later
 *
 * If the request has watch=end, or watch=exec to watch an attached thread for its execve(2) as
 * well, two answers come with a descriptor (task-events.h) where the kernel has such events: ok to
 * watch, and pending without after= to apply. If the request has budget= (us), ok comes with the
 * descriptor of cpu_budget_open; without this descriptor the answer is never ok. With whole= (a
 * CPU) and every= (us), the runtime is for all threads of the process in each period, and the
 * descriptor is that of budget_group_bound. restore and sweep with whole= and without budget= end
 * this common runtime (process-attach.h). The first answer has unlocked= and an error message if
 * the helper could not be locked in memory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "cgroup.h"
#include "confine.h"
#include "cpuset-leaf.h"
#include "cpuset-domains.h"
#include "cpu-latency.h"
#include "demote.h"
#include "give-extras.h"
#include "scheduling.h"
#include "attach-once.h"
#include "one-shot.h"
#include "options.h"
#include "process-attach.h"
#include "send-fds.h"
#include "lock-memory.h"
#include "paragraph.h"
#include "capabilities.h"
#include "thread.h"
#include "kernel-setting.h"
#include "units.h"
#include "task-events.h"
#include "tick-probe.h"

static enum apply_result refuse(char *reason, const char *text)
{
    snprintf(reason, APPLY_REASON, "%s", text);
    return APPLY_REFUSED;
}

static bool get_thread(const struct paragraph *request, pid_t *tid, uint64_t *started_by)
{
    uint64_t number;
    if (paragraph_get_number(request, "tid", INT32_MAX, &number) != 1 || number == 0 ||
        paragraph_get_number(request, "started_by", UINT64_MAX, started_by) != 1)
        return false;
    *tid = (pid_t)number;
    return true;
}

static struct placement placement_of(const struct paragraph *request)
{
    const char *move = paragraph_get(request, "move");
    return (struct placement){.group = paragraph_get(request, "group"),
                              .whole_process = move != NULL && strcmp(move, "process") == 0};
}

static enum apply_result serve_apply(const struct paragraph *request, int spec, int pidfd,
                                     char *reason)
{
    const struct placement placement = placement_of(request);
    struct attributes wanted;
    struct stat status;
    struct target target = {.pidfd = pidfd};
    if (!get_thread(request, &target.tid, &target.started_by) ||
        !attributes_get(request, "", &wanted))
        return refuse(reason, "the request apply lacks tid, started_by or attributes");
    if (spec < 0 || fstat(spec, &status) != 0 || !S_ISREG(status.st_mode))
        return refuse(reason, "the request apply comes without the open spec");
    if (wanted.policy != POLICY_FIFO && wanted.policy != POLICY_RR &&
        wanted.policy != POLICY_DEADLINE)
        return refuse(reason, "the request apply has a policy that is not real-time");
    /* Without reset-on-fork one grant would make all children of the thread real-time, too. */
    wanted.reset_on_fork = true;
    if (paragraph_get(request, "awake") != NULL && thread_is(target.tid, target.started_by) &&
        thread_sleeps(target.tid))
        return APPLY_PENDING;
    return scheduling_apply(&target, status.st_uid, &wanted, &placement, reason);
}

static enum apply_result serve_with(const struct paragraph *request, int pidfd, char *reason,
                                    enum apply_result (*enforce)(const struct target *,
                                                                 const struct attributes *,
                                                                 const struct placement *, char *))
{
    const struct placement placement = placement_of(request);
    struct attributes wanted;
    struct target target = {.pidfd = pidfd};
    if (!get_thread(request, &target.tid, &target.started_by) ||
        !attributes_get(request, "", &wanted))
        return refuse(reason, "the request lacks tid, started_by or attributes");
    return enforce(&target, &wanted, &placement, reason);
}

static enum apply_result serve_setting(const struct paragraph *request,
                                       bool (*change)(const struct kernel_setting *setting,
                                                      const char *by, char *reason),
                                       char *reason)
{
    const char *by = paragraph_get(request, "by"), *name = paragraph_get(request, "setting");
    if (by == NULL || name == NULL)
        return refuse(reason, "the request set or unset lacks the key \"by\" or \"setting\"");
    const enum which_setting which =
        strcmp(name, "hrtick") == 0 ? SETTING_HRTICK : SETTING_RT_LIMIT;
    return change(setting_of(which), by, reason) ? APPLY_DONE : APPLY_REFUSED;
}

static enum apply_result serve_domains(const struct paragraph *request, char *reason)
{
    const char *by = paragraph_get(request, "by"), *list = paragraph_get(request, "cpus");
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (by == NULL || (list != NULL && !parse_cpus(list, &cpus)))
        return refuse(reason,
                      "the request domains lacks the key \"by\", or has a wrong list \"cpus\"");
    return (list != NULL ? domains_make(&cpus, by, reason) : domains_drop(by, reason))
               ? APPLY_DONE
               : APPLY_REFUSED;
}

static enum apply_result serve_probe(const struct paragraph *request, char *reason)
{
    const char *list = paragraph_get(request, "cpus");
    cpu_set_t cpus;
    return list != NULL && parse_cpus(list, &cpus) ? scheduling_probe(&cpus, reason)
                                                   : refuse(reason, "the request probe lacks cpus");
}

/* True: the request has whole= and no budget=, so all threads of the process get their former
 * attributes back. */
static bool ends_process(const struct paragraph *request)
{
    return paragraph_get(request, "whole") != NULL && paragraph_get(request, "budget") == NULL;
}

static enum apply_result serve_sweep(const struct paragraph *request, char *reason)
{
    struct identity ended = {0};
    struct attributes former;
    const char *group = paragraph_get(request, "group");
    if (!get_thread(request, &ended.tid, &ended.started_by) ||
        (group == NULL && !ends_process(request)))
        return refuse(reason, "the request sweep lacks tid, started_by, group or whole");
    if (group != NULL)
        leaf_sweep(&ended, group);
    const struct target target = {ended.tid, ended.started_by, -1};
    if (ends_process(request) && attributes_get(request, "", &former)) {
        process_restore(&target, &former, true);
        process_remove(&target);
    }
    return APPLY_DONE;
}

static enum apply_result serve_restore(const struct paragraph *request, int pidfd, char *reason)
{
    struct attributes former;
    struct target target = {.pidfd = pidfd};
    const bool process = ends_process(request) &&
                         get_thread(request, &target.tid, &target.started_by) &&
                         attributes_get(request, "", &former);
    if (process)
        process_restore(&target, &former, false);
    const enum apply_result done = serve_with(request, pidfd, reason, scheduling_restore);
    if (process) {
        /* a second time, for threads that the first thread has started meanwhile */
        process_restore(&target, &former, true);
        process_remove(&target);
    }
    return done;
}

static enum apply_result serve_descriptor(const struct paragraph *request, char *reason)
{
    pid_t tid;
    uint64_t started_by;
    if (!get_thread(request, &tid, &started_by))
        return refuse(reason, "the request watch lacks tid or started_by");
    if (thread_is(tid, started_by))
        return APPLY_DONE;
    return errno == ESRCH ? APPLY_GONE : refuse(reason, strerror(errno));
}

/* Serves op=loop: the guard wants an event that counts a process's CPU time (guard/kernel-loop.h).
 * With tid= the process is the broker; without tid= it is this helper. */
static enum apply_result serve_loop(const struct paragraph *request, char *reason)
{
    return paragraph_get(request, "tid") == NULL ? APPLY_DONE : serve_descriptor(request, reason);
}

static enum apply_result serve_one(const struct paragraph *request, const int fds[2], char *reason)
{
    const char *op = paragraph_get(request, "op");
    if (op != NULL && strcmp(op, "apply") == 0)
        return serve_apply(request, fds[0], fds[1], reason);
    if (op != NULL && strcmp(op, "adjust") == 0)
        return serve_with(request, fds[0], reason, scheduling_adjust);
    if (op != NULL && strcmp(op, "restore") == 0)
        return serve_restore(request, fds[0], reason);
    if (op != NULL && (strcmp(op, "watch") == 0 || strcmp(op, "budget") == 0))
        return serve_descriptor(request, reason);
    if (op != NULL && strcmp(op, "loop") == 0)
        return serve_loop(request, reason);
    if (op != NULL && strcmp(op, "repair") == 0) {
        demote_repair();
        return APPLY_DONE;
    }
    if (op != NULL && strcmp(op, "sweep") == 0)
        return serve_sweep(request, reason);
    if (op != NULL && strcmp(op, "give") == 0)
        return give_extras(request, reason);
    if (op != NULL && strcmp(op, "set") == 0)
        return serve_setting(request, setting_take, reason);
    if (op != NULL && strcmp(op, "unset") == 0)
        return serve_setting(request, setting_restore, reason);
    if (op != NULL && strcmp(op, "tick") == 0)
        return tick_probe() ? APPLY_DONE : refuse(reason, "the tick ends SCHED_DEADLINE runtimes");
    if (op != NULL && strcmp(op, "probe") == 0)
        return serve_probe(request, reason);
    if (op != NULL && strcmp(op, "domains") == 0)
        return serve_domains(request, reason);
    return refuse(reason, "unknown op");
}

/* Opens the watch descriptor for the answer. -1: the request asks for none, or the kernel has no
 * such events. */
static int open_watch(const struct paragraph *request, enum apply_result done)
{
    const char *op = paragraph_get(request, "op");
    const char *watch = paragraph_get(request, "watch");
    pid_t tid;
    uint64_t started_by;
    const bool wanted = op != NULL && watch != NULL &&
                        ((strcmp(op, "watch") == 0 && done == APPLY_DONE) ||
                         (done == APPLY_PENDING && scheduling_counted_us() == 0));
    if (!wanted || !get_thread(request, &tid, &started_by))
        return -1;
    return task_events_open(tid, done == APPLY_DONE && strcmp(watch, "exec") == 0);
}

/* Returns the process that an op=loop is about; 0: another op. */
static pid_t looping_process(const struct paragraph *request)
{
    const char *op = paragraph_get(request, "op");
    pid_t tid;
    uint64_t started_by;
    if (op == NULL || strcmp(op, "loop") != 0)
        return 0;
    return get_thread(request, &tid, &started_by) ? tid : getpid();
}

/* Opens the budget descriptor (an event that fires when the runtime is used up) before the thread
 * becomes real-time, so that the runtime is bounded from the beginning. -1: the request asks for no
 * budget, or *done and *reason are the refusal. */
static int open_budget(const struct paragraph *request, int pidfd, enum apply_result *done,
                       char *reason)
{
    pid_t tid;
    uint64_t started_by, budget, cpu, every;
    const int asked = paragraph_get_number(request, "budget", INT32_MAX, &budget);
    *done = APPLY_DONE;
    if (asked == 0)
        return -1;
    const pid_t process = looping_process(request);
    if (asked < 0 || budget == 0 || (process == 0 && !get_thread(request, &tid, &started_by))) {
        *done = refuse(reason, "the request budget lacks tid or started_by, or has a wrong value");
        return -1;
    }
    if (paragraph_get_number(request, "whole", CPU_SETSIZE - 1, &cpu) == 1) {
        if (paragraph_get_number(request, "every", INT32_MAX, &every) == 1)
            return process_attach(&(struct target){tid, started_by, pidfd},
                                  &(struct process_budget){(int)cpu, budget, every}, done, reason);
        *done = refuse(reason, "the request budget has whole without every");
        return -1;
    }
    if (process != 0)
        tid = process;
    const int event = cpu_budget_open(tid, budget);
    if (event < 0 && errno == ESRCH)
        *done = APPLY_GONE;
    else if (event < 0)
        *done = apply_refuse(
            reason,
            "the runtime of thread %d cannot be enforced: the kernel refuses a perf event: %s",
            (int)tid, strerror(errno));
    return event;
}

static bool answer(const struct paragraph *request, enum apply_result done, char *reason, int watch,
                   int unlocked)
{
    static const char *const answers[] = {[APPLY_DONE] = "ok",
                                          [APPLY_GONE] = "gone",
                                          [APPLY_REFUSED] = "no",
                                          [APPLY_BUSY] = "busy",
                                          [APPLY_PENDING] = "pending"};
    static struct paragraph_output output;
    paragraph_add(&output, "id", paragraph_get(request, "id"));
    paragraph_add(&output, "answer", answers[done]);
    if (done == APPLY_DONE && looping_process(request) != 0)
        paragraph_add_number(&output, "pid", (uint64_t)looping_process(request));
    if (done == APPLY_REFUSED || done == APPLY_BUSY)
        paragraph_add(&output, "reason", paragraph_clean(reason));
    if ((done == APPLY_PENDING || done == APPLY_DONE) && scheduling_counted_us() > 0)
        paragraph_add_number(&output, "after", scheduling_counted_us());
    if (unlocked != 0)
        paragraph_add(&output, "unlocked", strerror(unlocked));
    paragraph_close(&output);
    bool sent = send_with_fd(STDIN_FILENO, output.data, output.length, watch, MSG_NOSIGNAL);
    paragraph_drop(&output, output.length);
    return sent;
}

/* Takes from the helper all rights that it does not need for its requests. processes: requests may
 * ask for a runtime of a whole process, see process-attach.h. */
static bool confine(bool processes)
{
    /* CAP_SYS_NICE: scheduling. capability_for_perf: perf events. CAP_DAC_OVERRIDE: cgroups that
     * belong to a user. CAP_IPC_LOCK: memory that stays locked as it grows. CAP_SYS_RESOURCE: the
     * limits of users' processes. */
    enum { END_OF_LIST = -1 };
    const bool hidden = confine_proc_is_hidden();
    const int powers[] = {CAP_SYS_NICE,     capability_for_perf(),
                          CAP_DAC_OVERRIDE, CAP_IPC_LOCK,
                          CAP_SYS_RESOURCE, hidden ? CAP_SYS_PTRACE : END_OF_LIST,
                          END_OF_LIST};
    static const char *const calls[] = {"sched_setattr",
                                        "sched_setscheduler",
                                        "sched_setparam",
                                        "sched_setaffinity",
                                        "setpriority",
                                        "sched_getattr",
                                        "sched_getscheduler",
                                        "sched_getparam",
                                        "sched_getaffinity",
                                        "getpriority",
                                        "prlimit64",
                                        "pidfd_open",
                                        "perf_event_open",
                                        "setitimer",
                                        "fork",
                                        "clone",
                                        "clone3",
                                        "vfork",
                                        "wait4",
                                        "set_robust_list",
                                        "rseq",
                                        "recvmsg",
                                        "sendmsg",
                                        "read",
                                        "write",
                                        "writev",
                                        "readv",
                                        "pread64",
                                        "pwrite64",
                                        "open",
                                        "openat",
                                        "close",
                                        "fstat",
                                        "stat",
                                        "lstat",
                                        "newfstatat",
                                        "statx",
                                        "lseek",
                                        "getdents64",
                                        "access",
                                        "faccessat",
                                        "faccessat2",
                                        "mkdir",
                                        "mkdirat",
                                        "rmdir",
                                        "fgetxattr",
                                        "fsetxattr",
                                        "unlink",
                                        "unlinkat",
                                        "rename",
                                        "renameat",
                                        "renameat2",
                                        "poll",
                                        "ppoll",
                                        "nanosleep",
                                        "clock_nanosleep",
                                        "restart_syscall",
                                        "clock_gettime",
                                        "clock_getres",
                                        "gettimeofday",
                                        "time",
                                        "rt_sigaction",
                                        "rt_sigprocmask",
                                        "rt_sigreturn",
                                        "getpid",
                                        "gettid",
                                        "getuid",
                                        "geteuid",
                                        "brk",
                                        "mmap",
                                        "munmap",
                                        "mremap",
                                        "mprotect",
                                        "madvise",
                                        "getrandom",
                                        "futex",
                                        "sysinfo",
                                        "uname",
                                        "exit",
                                        "exit_group",
                                        "statfs",
                                        "fstatfs",
                                        "flock",
                                        NULL};
    char mount[GROUP_BYTES];
    const bool has_cpusets = cgroups_find("cpuset", mount) != CGROUPS_NONE;
    char groups[32];
    const int hierarchy = process_attach_open(processes);
    snprintf(groups, sizeof groups, "/proc/self/fd/%d", hierarchy);
    const struct confine_path files[] = {{"/proc", MAY_READ},
                                         {"/sys", MAY_READ},
                                         {RUN_DIRECTORY, MAY_CHANGE},
                                         {CPU_LATENCY_DEVICE, MAY_WRITE},
                                         /* the groups of processes; without a hierarchy this path
                                          * does not exist */
                                         {groups, MAY_CHANGE},
                                         {has_cpusets ? mount : NULL, MAY_CHANGE},
                                         {0}};
    settings_open(); /* setting_take reports a setting that cannot be opened */
    if (!confine_for_good() || !capabilities_keep(powers))
        return false;
    if (!hidden)
        (void)confine_files(files); /* the broker reports a kernel without Landlock */
    return confine_calls(calls);
}

static int serve(bool processes)
{
    /* The helper must answer while the threads that it made real-time run. */
    int unlocked = memory_lock(0) ? 0 : errno;
    if (!confine(processes)) {
        fprintf(stderr, "rtf-attach: cannot drop unneeded privileges: %s\n", strerror(errno));
        return EX_OSERR;
    }
    static struct paragraph_input input;
    char bytes[PARAGRAPH_BYTES];
    for (;;) {
        struct paragraph request;
        const char *why;
        char reason[APPLY_REASON] = "";
        int fds[2];
        ssize_t got = receive_with_fds(STDIN_FILENO, bytes, sizeof bytes, fds, 2);
        if (got == 0)
            return EX_OK; /* the broker has ended; attached threads stay attached */
        if (got < 0)
            return EX_OSERR;
        if (!paragraph_feed(&input, bytes, (size_t)got) ||
            paragraph_take(&input, &request, &why) != 1 || paragraph_get(&request, "id") == NULL)
            return EX_DATAERR;
        enum apply_result done;
        const int budget = open_budget(&request, fds[fds[1] >= 0 ? 1 : 0], &done, reason);
        if (done == APPLY_DONE)
            done = serve_one(&request, fds, reason);
        const int watch = budget >= 0 ? -1 : open_watch(&request, done);
        bool sent = answer(&request, done, reason,
                           done == APPLY_DONE && budget >= 0 ? budget : watch, unlocked);
        unlocked = 0; /* only the first answer reports this */
        if (watch >= 0)
            close(watch);
        if (budget >= 0)
            close(budget);
        for (int i = 0; i < 2; i++)
            if (fds[i] >= 0)
                close(fds[i]);
        if (!sent)
            return EX_OK;
    }
}

struct options {
    bool serve, processes;
    const char *probed;
    char **words;
    int count;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'p': options->probed = argument; return 0;
    case 's': options->serve = true; return 0;
    case 'P': options->processes = true; return 0;
    case ARGP_KEY_ARGS:
        options->words = state->argv + state->next;
        options->count = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        if (!options->serve && options->probed == NULL)
            argp_usage(state);
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option argp_options[] = {
        {"serve", 's', NULL, 0, "answer the broker on standard input, a SOCK_SEQPACKET socket", 0},
        {"processes", 'P', NULL, 0, "with --serve: also enforce runtimes of whole processes", 0},
        {"probe", 'p', "LIST", 0,
         "report whether SCHED_DEADLINE threads can be on all of these CPUs, and change nothing",
         0},
        {0}};
    static const struct argp argp = {argp_options,
                                     parse_option,
                                     "tid=TID policy=POLICY cpus=LIST [KEY=VALUE...]",
                                     "Make a thread real-time and print its former attributes.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct options options = {0};
    static struct paragraph_input input;
    struct paragraph words;
    parse_options(&argp, argc, argv, 0, &options, EX_USAGE, EX_IOERR);
    if (options.serve)
        return serve(options.processes);
    if (options.probed != NULL)
        return attach_once_probe(options.probed);
    if (!one_shot_words(&input, &words, options.words, options.count))
        return EX_USAGE;
    return attach_once(&words);
}
