/* rtf-attach(8): makes a thread real-time. One-shot from a command line, or kept running by the broker as
 * `rtf-attach --serve`, with a SOCK_SEQPACKET socket as standard input: each datagram is one paragraph, and
 * `apply` carries the open spec, whose owner is read here, not believed. Behind that, or alone, the first three may carry a
 * pidfd of the thread, opened when it was known to be that one. started_by: as in thread.h.
 *
 *   op=apply   id tid started_by + attributes, the spec's fd   the thread must be the spec owner's
 *   op=adjust  id tid started_by + attributes                  other priority and CPUs, the same policy
 *   op=restore id tid started_by + attributes                  what it was before
 *   op=watch   id tid started_by watch                         only the descriptor, see below
 *   op=budget  id tid started_by budget                        the same
 *   op=lift    id by                                           lifts sched_rt_runtime_us for `by` (rt-limit.h)
 *   op=limit   id by                                           `by` does not need that any more
 *   op=probe   id cpus                                         whether SCHED_DEADLINE threads can be on them, not pinned
 *   op=domains id by cpus                                      makes scheduling domains; without cpus: removes those of `by`
 *   op=sweep   id tid started_by group                         takes what an ended thread has left in its domain out of it
 *
 * The first three take group=, the cpuset group that the thread came from, wherever domains are in use. apply takes move=process,
 * and awake=1: if the thread sleeps, pending, with nothing done.
 *
 * Each is answered by id=, answer=ok|pending|gone|no|busy and, for no and busy, reason=. busy: what others hold is in the way, and may not be later. pending: the thread sleeps, and is to be applied again when it has woken; or,
 * with after=, it is ordinary and has to stay in its domain, and the request is to be made again after so many us, 10 s at most.
 * ok with after=: it is done, but the kernel counts the bandwidth that the thread had for so many us more.
 * With watch=end or, if what is attached is to be watched for its execve, watch=exec, ok to watch and pending without after=
 * to apply bring a descriptor (task-events.h), where the kernel has such. With budget= (us) ok brings the one that says
 * when so much CPU time has been used, and there is no ok without it. The first answer has unlocked= and why, if the helper could not be locked
 * in memory. */
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
#include "scheduling.h"
#include "one-shot.h"
#include "options.h"
#include "send-fds.h"
#include "lock-memory.h"
#include "paragraph.h"
#include "capabilities.h"
#include "thread.h"
#include "rt-limit.h"
#include "units.h"
#include "task-events.h"

static enum apply_result no(char *reason, const char *text)
{
    snprintf(reason, APPLY_REASON, "%s", text);
    return APPLY_REFUSED;
}

static bool named_thread(const struct paragraph *request, pid_t *tid, uint64_t *started_by)
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
    return (struct placement){.group = paragraph_get(request, "group"), .whole_process = move != NULL && strcmp(move, "process") == 0};
}

static enum apply_result serve_apply(const struct paragraph *request, int spec, int pidfd, char *reason)
{
    const struct placement placement = placement_of(request);
    struct attributes wanted;
    struct stat status;
    struct target target = {.pidfd = pidfd};
    if (!named_thread(request, &target.tid, &target.started_by) || !attributes_get(request, "", &wanted))
        return no(reason, "apply without tid, started_by or attributes");
    if (spec < 0 || fstat(spec, &status) != 0 || !S_ISREG(status.st_mode))
        return no(reason, "apply without the open spec");
    if (wanted.policy != POLICY_FIFO && wanted.policy != POLICY_RR && wanted.policy != POLICY_DEADLINE)
        return no(reason, "apply of a policy that is not real-time");
    wanted.reset_on_fork = true; /* or one grant would make a thousand real-time children */
    if (paragraph_get(request, "awake") != NULL && thread_is(target.tid, target.started_by) && thread_sleeps(target.tid))
        return APPLY_PENDING;
    return scheduling_apply(&target, status.st_uid, &wanted, &placement, reason);
}

static enum apply_result serve_known(const struct paragraph *request, int pidfd, char *reason,
                                 enum apply_result (*enforce)(const struct target *, const struct attributes *, const struct placement *, char *))
{
    const struct placement placement = placement_of(request);
    struct attributes wanted;
    struct target target = {.pidfd = pidfd};
    if (!named_thread(request, &target.tid, &target.started_by) || !attributes_get(request, "", &wanted))
        return no(reason, "a request without tid, started_by or attributes");
    return enforce(&target, &wanted, &placement, reason);
}

static enum apply_result serve_rt_limit(const struct paragraph *request, bool (*change)(const char *by, char *reason), char *reason)
{
    const char *by = paragraph_get(request, "by");
    if (by == NULL)
        return no(reason, "lift or limit without by");
    return change(by, reason) ? APPLY_DONE : APPLY_REFUSED;
}

static enum apply_result serve_domains(const struct paragraph *request, char *reason)
{
    const char *by = paragraph_get(request, "by"), *list = paragraph_get(request, "cpus");
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    if (by == NULL || (list != NULL && !parse_cpus(list, &cpus)))
        return no(reason, "domains without by or with wrong cpus");
    return (list != NULL ? domains_make(&cpus, by, reason) : domains_drop(by, reason)) ? APPLY_DONE : APPLY_REFUSED;
}

static enum apply_result serve_probe(const struct paragraph *request, char *reason)
{
    const char *list = paragraph_get(request, "cpus");
    cpu_set_t cpus;
    return list != NULL && parse_cpus(list, &cpus) ? scheduling_probe(&cpus, reason) : no(reason, "probe without cpus");
}

static enum apply_result serve_sweep(const struct paragraph *request, char *reason)
{
    struct identity ended = {0};
    const char *group = paragraph_get(request, "group");
    if (!named_thread(request, &ended.tid, &ended.started_by) || group == NULL)
        return no(reason, "sweep without tid, started_by or group");
    leaf_sweep(&ended, group);
    return APPLY_DONE;
}

static enum apply_result serve_watch(const struct paragraph *request, char *reason)
{
    pid_t tid;
    uint64_t started_by;
    if (!named_thread(request, &tid, &started_by))
        return no(reason, "watch without tid or started_by");
    if (thread_is(tid, started_by))
        return APPLY_DONE;
    return errno == ESRCH ? APPLY_GONE : no(reason, strerror(errno));
}

static enum apply_result serve_one(const struct paragraph *request, const int fds[2], char *reason)
{
    const char *op = paragraph_get(request, "op");
    if (op != NULL && strcmp(op, "apply") == 0)
        return serve_apply(request, fds[0], fds[1], reason);
    if (op != NULL && strcmp(op, "adjust") == 0)
        return serve_known(request, fds[0], reason, scheduling_adjust);
    if (op != NULL && strcmp(op, "restore") == 0)
        return serve_known(request, fds[0], reason, scheduling_restore);
    if (op != NULL && (strcmp(op, "watch") == 0 || strcmp(op, "budget") == 0))
        return serve_watch(request, reason);
    if (op != NULL && strcmp(op, "sweep") == 0)
        return serve_sweep(request, reason);
    if (op != NULL && strcmp(op, "lift") == 0)
        return serve_rt_limit(request, rt_limit_lift, reason);
    if (op != NULL && strcmp(op, "limit") == 0)
        return serve_rt_limit(request, rt_limit_restore, reason);
    if (op != NULL && strcmp(op, "probe") == 0)
        return serve_probe(request, reason);
    if (op != NULL && strcmp(op, "domains") == 0)
        return serve_domains(request, reason);
    return no(reason, "unknown op");
}

/* The watch of the thread that a request was about, if it is wanted and there is any. */
static int open_watch(const struct paragraph *request, enum apply_result done)
{
    const char *op = paragraph_get(request, "op");
    const char *watch = paragraph_get(request, "watch");
    pid_t tid;
    uint64_t started_by;
    const bool wanted = op != NULL && watch != NULL && ((strcmp(op, "watch") == 0 && done == APPLY_DONE) || (done == APPLY_PENDING && scheduling_owed() == 0));
    if (!wanted || !named_thread(request, &tid, &started_by))
        return -1;
    return task_events_open(tid, done == APPLY_DONE && strcmp(watch, "exec") == 0);
}

/* Before the thread is real-time: nobody is without a bound, not even for a moment. -1: none is asked for, or *done says no. */
static int open_budget(const struct paragraph *request, enum apply_result *done, char *reason)
{
    pid_t tid;
    uint64_t started_by, budget;
    const int asked = paragraph_get_number(request, "budget", INT32_MAX, &budget);
    *done = APPLY_DONE;
    if (asked == 0)
        return -1;
    if (asked < 0 || budget == 0 || !named_thread(request, &tid, &started_by)) {
        *done = no(reason, "budget without tid or started_by, or wrong");
        return -1;
    }
    const int event = cpu_budget_open(tid, budget);
    if (event < 0 && errno == ESRCH)
        *done = APPLY_GONE;
    else if (event < 0)
        *done = apply_refuse(reason, "the runtime of thread %d cannot be enforced, for the kernel gives no perf event: %s", (int)tid, strerror(errno));
    return event;
}

static bool answer(const char *id, enum apply_result done, char *reason, int watch, int unlocked)
{
    static const char *const answers[] = {[APPLY_DONE] = "ok", [APPLY_GONE] = "gone", [APPLY_REFUSED] = "no", [APPLY_BUSY] = "busy",
                                          [APPLY_PENDING] = "pending"};
    static struct paragraph_output output;
    paragraph_add(&output, "id", id);
    paragraph_add(&output, "answer", answers[done]);
    if (done == APPLY_REFUSED || done == APPLY_BUSY)
        paragraph_add(&output, "reason", paragraph_clean(reason));
    if ((done == APPLY_PENDING || done == APPLY_DONE) && scheduling_owed() > 0)
        paragraph_add_number(&output, "after", scheduling_owed());
    if (unlocked != 0)
        paragraph_add(&output, "unlocked", strerror(unlocked));
    paragraph_close(&output);
    bool sent = send_with_fd(STDIN_FILENO, output.data, output.length, watch, MSG_NOSIGNAL);
    paragraph_drop(&output, output.length);
    return sent;
}

/* From here on it can do what the requests above need and nothing else. */
static bool confine(void)
{
    /* Scheduling and the watch of threads, cgroups that belong to a user, and memory that stays locked as it grows. */
    enum { END_OF_LIST = -1 };
    const bool hidden = confine_proc_is_hidden();
    const int powers[] = {CAP_SYS_NICE, capability_for_perf(), CAP_DAC_OVERRIDE, CAP_IPC_LOCK,
                          hidden ? CAP_SYS_PTRACE : END_OF_LIST, END_OF_LIST};
    static const char *const calls[] = {
        "sched_setattr", "sched_setscheduler", "sched_setparam", "sched_setaffinity", "setpriority", "sched_getattr", "sched_getscheduler",
        "sched_getparam", "sched_getaffinity", "getpriority", "pidfd_open", "perf_event_open", "setitimer", "fork", "clone", "clone3", "vfork", "wait4",
        "set_robust_list", "rseq", "recvmsg", "sendmsg", "read", "write", "writev", "readv", "pread64", "pwrite64", "open", "openat", "close", "fstat",
        "stat", "lstat", "newfstatat", "statx", "lseek", "getdents64", "access", "faccessat", "faccessat2", "mkdir", "mkdirat", "rmdir", "fgetxattr", "fsetxattr",
        "unlink", "unlinkat", "rename", "renameat", "renameat2", "poll", "ppoll", "nanosleep", "clock_nanosleep", "restart_syscall", "clock_gettime",
        "clock_getres", "gettimeofday", "time", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "getpid", "gettid", "getuid", "geteuid", "brk", "mmap", "munmap",
        "mremap", "mprotect", "madvise", "getrandom", "futex", "sysinfo", "uname", "exit", "exit_group", "statfs", "fstatfs", "flock", NULL};
    char mount[GROUP_BYTES];
    const bool has_cpusets = cgroups_find("cpuset", mount) != CGROUPS_NONE;
    const struct confine_path files[] = {{"/proc", MAY_READ}, {"/sys", MAY_READ}, {RUN_DIRECTORY, MAY_CHANGE},
                                         {has_cpusets ? mount : NULL, MAY_CHANGE}, {0}};
    (void)rt_limit_open(); /* who needs it and has none is told so */
    if (!confine_for_good() || !capabilities_keep(powers))
        return false;
    if (!hidden)
        (void)confine_files(files); /* the broker has said whether there is such a thing */
    return confine_calls(calls);
}

static int serve(void)
{
    int unlocked = memory_lock(0) ? 0 : errno; /* it must answer beside what it made real-time */
    if (!confine()) {
        fprintf(stderr, "rtf-attach: the attach helper cannot give up what it does not need: %s\n", strerror(errno));
        return EX_OSERR;
    }
    static struct paragraph_input input;
    char bytes[PARAGRAPH_BYTES];
    for (;;) {
        struct paragraph request;
        const char *why, *id;
        char reason[APPLY_REASON] = "";
        int fds[2];
        ssize_t got = receive_with_fds(STDIN_FILENO, bytes, sizeof bytes, fds, 2);
        if (got == 0)
            return EX_OK; /* the broker is gone; what it granted stays */
        if (got < 0)
            return EX_OSERR;
        if (!paragraph_feed(&input, bytes, (size_t)got) || paragraph_take(&input, &request, &why) != 1 ||
            (id = paragraph_get(&request, "id")) == NULL)
            return EX_DATAERR;
        enum apply_result done;
        const int budget = open_budget(&request, &done, reason);
        if (done == APPLY_DONE)
            done = serve_one(&request, fds, reason);
        const int watch = budget >= 0 ? -1 : open_watch(&request, done);
        bool sent = answer(id, done, reason, done == APPLY_DONE && budget >= 0 ? budget : watch, unlocked);
        unlocked = 0; /* said once */
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

static bool is_complete(const struct attributes *wanted)
{
    if (wanted->policy == POLICY_DEADLINE)
        return wanted->priority == 0 && wanted->runtime != 0 && wanted->deadline != 0 && wanted->period != 0;
    return (wanted->policy == POLICY_FIFO || wanted->policy == POLICY_RR) && wanted->priority != 0;
}

static int say(int code, const char *sentence)
{
    fprintf(stderr, "rtf-attach: %s\n", sentence);
    return code;
}

/* The state before goes to standard output first, in the form that rtf-detach reads: what cannot be put back is
 * not done. */
static int attach_once(const struct paragraph *words)
{
    struct identity identity;
    struct attributes wanted, former;
    char reason[APPLY_REASON] = "", group[GROUP_BYTES];
    int code = one_shot_thread(words, &identity);
    if (code != EX_OK)
        return code;
    if (!attributes_get(words, "", &wanted) || !is_complete(&wanted))
        return say(EX_USAGE, "wanted are policy=fifo or rr with priority=1..99, or policy=deadline with runtime=, deadline= and "
                             "period= in us, and cpus=");
    if (!thread_attributes(identity.tid, &former))
        return say(EX_NOINPUT, strerror(errno));
    if (!one_shot_group(identity.tid, &wanted, group))
        return say(EX_NOPERM, "its cpuset group cannot be told, so it could not be put back");
    if (!one_shot_print(&identity, &former, group))
        return say(EX_IOERR, "what the thread is now could not be written out, so nothing was done");
    wanted.reset_on_fork = true;
    const struct placement placement = {.group = group[0] == '\0' ? NULL : group, .whole_process = true};
    enum apply_result done;
    do
        done = scheduling_apply(&(struct target){identity.tid, identity.started_by, -1}, 0, &wanted, &placement, reason);
    while (one_shot_waits(done));
    (void)one_shot_close();
    if (done == APPLY_DONE)
        return EX_OK;
    if (done == APPLY_PENDING)
        return say(EX_TEMPFAIL, "the thread sleeps, or the kernel holds it on its CPU: it can be made real-time when it runs");
    return done == APPLY_GONE ? say(EX_NOINPUT, "the thread has ended") : say(EX_NOPERM, reason);
}

/* Whether SCHED_DEADLINE threads could be on these CPUs as they are now. */
static int probe(const char *list)
{
    cpu_set_t cpus;
    char reason[APPLY_REASON] = "";
    if (!parse_cpus(list, &cpus))
        return say(EX_USAGE, "--probe takes a list of CPUs");
    return scheduling_probe(&cpus, reason) == APPLY_DONE ? EX_OK : say(EX_NOPERM, reason);
}

struct options {
    bool serve;
    const char *probed;
    char **words;
    int count;
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case 'p':
        options->probed = argument;
        return 0;
    case 's':
        options->serve = true;
        return 0;
    case ARGP_KEY_ARGS:
        options->words = state->argv + state->next;
        options->count = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        if (!options->serve && options->probed == NULL)
            argp_usage(state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int main(int argc, char **argv)
{
    static const struct argp_option argp_options[] = {
        {"serve", 's', NULL, 0, "answer the broker on standard input, a SOCK_SEQPACKET socket", 0},
        {"probe", 'p', "LIST", 0, "say whether SCHED_DEADLINE threads can be on all of these CPUs, and change nothing", 0}, {0}};
    static const struct argp argp = {argp_options, parse_option, "tid=TID policy=POLICY cpus=LIST [KEY=VALUE...]",
                                     "Make a thread real-time and print what it was.", NULL, NULL, NULL};
    struct options options = {0};
    static struct paragraph_input input;
    struct paragraph words;
    parse_options(&argp, argc, argv, 0, &options, EX_USAGE, EX_IOERR);
    if (options.serve)
        return serve();
    if (options.probed != NULL)
        return probe(options.probed);
    if (!one_shot_words(&input, &words, options.words, options.count))
        return EX_USAGE;
    return attach_once(&words);
}
