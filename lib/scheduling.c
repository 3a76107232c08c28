#include "scheduling.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "retry.h"
#include "demote.h"
#include "cpuset-leaf.h"
#include "kernel-refusal.h"
#include "units.h"

uint64_t scheduling_counted_us(void)
{
    return demote_counted_us();
}

/* True if the caller passed a pidfd, and the thread of the pidfd has ended. Start times do not show
 * this end if another thread got the same id within one clock tick. */
static bool passed_has_ended(const struct target *target)
{
    return target->pidfd >= 0 && thread_has_ended(target->pidfd);
}

/* True if the caller passed a pidfd, and the pidfd suffices to identify the thread. The caller
 * opened the pidfd when it identified the thread, so the pidfd belongs to this thread for ever.
 * False for a thread of root, because only /proc shows whether a thread is a kernel thread. */
static bool is_passed(const struct target *target, struct identity *identity)
{
    *identity = (struct identity){.started_by = target->started_by};
    return target->pidfd >= 0 && thread_of_pidfd(target->pidfd, identity) &&
           identity->tid == target->tid && identity->real_uid != 0 && !passed_has_ended(target);
}

/* Opens a pidfd of the thread, and proves that the thread is the thread of *target. Returns the
 * pidfd; -1 with errno, ESRCH if the id belongs to another thread. Sets process and uids of
 * *identity only if `whole` is true. */
static int hold_once(const struct target *target, bool whole, struct identity *identity)
{
    const pid_t tid = target->tid;
    int pidfd = thread_open(tid);
    if (pidfd < 0)
        return -1;
    bool seen = thread_look(tid, identity) && (!whole || thread_owner(pidfd, tid, identity));
    int error = seen ? ESRCH : errno;
    bool same = seen && identity->start <= target->started_by;
    identity->started_by =
        target->started_by; /* all of rtf's programs use this time to name the thread */
    if (same && !identity->ended && !thread_has_ended(pidfd) && !passed_has_ended(target))
        return pidfd;
    close(pidfd);
    errno = error;
    return -1;
}

static int hold(const struct target *target, bool whole, struct identity *identity)
{
    int pidfd, tries = 0;
    demote_begin();
    if (is_passed(target, identity))
        return target->pidfd;
    do
        pidfd = hold_once(target, whole, identity);
    while (pidfd < 0 && retry_again(tries++));
    return pidfd;
}

static void let_go(const struct target *target, int pidfd)
{
    demote_end(target->tid, pidfd);
    if (pidfd != target->pidfd)
        close(pidfd);
}

static enum apply_result check_owner(const struct identity *identity, uid_t owner, char *reason)
{
    if (identity->kernel)
        return apply_refuse(reason, "thread %d is a kernel thread", (int)identity->tid);
    if (thread_is_of(identity, owner))
        return APPLY_DONE;
    return apply_refuse(
        reason,
        "thread %d runs as uid %u (effective %u, saved %u, for files %u), but the spec belongs to uid %u",
        (int)identity->tid, identity->real_uid, identity->effective_uid, identity->saved_uid,
        identity->files_uid, owner);
}

static enum apply_result refuse_unseen(pid_t tid, char *reason)
{
    return apply_refuse(reason, "the state of thread %d cannot be read: %s", (int)tid,
                        strerror(errno));
}

static enum apply_result set_cpus(pid_t tid, const cpu_set_t *wanted, char *reason)
{
    char cpus[CPU_LIST_TEXT];
    cpu_set_t now;
    if (sched_getaffinity(tid, sizeof now, &now) == 0 && CPU_EQUAL(&now, wanted))
        /* The thread has these CPUs already, for example from its domain, so the affinity is not
         * set. If it were set, the children of the thread would inherit it, also children that
         * leave the domain. */
        return APPLY_DONE;
    int result, tries = 0;
    do
        result = sched_setaffinity(tid, sizeof *wanted, wanted);
    while (result != 0 && retry_again(tries++));
    if (result != 0) {
        if (errno == ESRCH)
            return APPLY_GONE;
        return apply_refuse(reason, "thread %d may not run on CPU %.200s: %s", (int)tid,
                            format_cpus(wanted, cpus),
                            errno == EINVAL ? "offline, or outside the cpuset of the thread"
                                            : strerror(errno));
    }
    /* sched_setaffinity(2) succeeds even if only some of the CPUs are online and in the thread's
     * cpuset: the kernel drops the other CPUs from the mask. */
    if (sched_getaffinity(tid, sizeof now, &now) == 0 && !CPU_EQUAL(&now, wanted))
        return apply_refuse(
            reason, "some of the CPUs %.200s are offline or outside the cpuset of thread %d",
            format_cpus(wanted, cpus), (int)tid);
    return APPLY_DONE;
}

/* ---- domains ---- */

static int only_cpu(const cpu_set_t *cpus)
{
    int cpu = 0;
    while (!CPU_ISSET((size_t)cpu, cpus))
        cpu++;
    return cpu;
}

/* Returns the CPU of the scheduling domain that the thread has to enter; -1: the thread has to
 * enter no domain. */
static int wanted_domain(const struct attributes *wanted)
{
    return wanted->domain ? only_cpu(&wanted->cpus) : -1;
}

/* The present leaf of the thread (cpuset-leaf.h), and the leaf that the thread has to enter. */
struct move {
    int domain;
    char from[LEAF_NAME], to[LEAF_NAME]; /* "": in no domain */
    bool needed;
};

static struct move plan_move(const struct identity *identity, int domain,
                             const struct placement *placement)
{
    struct move move = {.domain = domain};
    if (placement->group != NULL) {
        leaf_find(move.from, identity->tid);
        leaf_of(move.to, identity, domain);
    }
    move.needed = strcmp(move.from, move.to) != 0;
    return move;
}

static int present_domain(const struct identity *identity, const struct placement *placement)
{
    struct move move = plan_move(identity, -1, placement);
    int cpu = -1;
    return sscanf(move.from, "rtf-%d", &cpu) == 1 ? cpu : -1;
}

/* Moves the thread from one domain to another. The thread must be ordinary. */
static enum apply_result make_move(const struct identity *identity, const struct move *move,
                                   const struct placement *placement, char *reason)
{
    enum apply_result done =
        move->from[0] == '\0'
            ? APPLY_DONE
            : leaf_leave(identity, move->from, placement->group, placement->whole_process, reason);
    return done == APPLY_DONE && move->domain >= 0
               ? leaf_enter(identity, move->domain, placement->whole_process, reason)
               : done;
}

enum apply_result scheduling_probe(const cpu_set_t *cpus, char reason[static APPLY_REASON])
{
    /* The child needs a little runtime to end. After EBUSY the kernel has also accepted the CPUs,
     * because it checks the CPUs before the bandwidth. */
    const struct attributes wanted = {.policy = POLICY_DEADLINE,
                                      .reset_on_fork = true,
                                      .runtime = 10000,
                                      .deadline = 100000,
                                      .period = 100000};
    char list[CPU_LIST_TEXT];
    int status;
    pid_t child = fork();
    if (child == 0) {
        bool good = sched_setaffinity(0, sizeof *cpus, cpus) == 0 &&
                    (retry_set(0, &wanted) == 0 || errno == EBUSY);
        _exit(good ? 0 : errno);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return apply_refuse(reason, "the CPUs %.200s cannot be probed: %s", format_cpus(cpus, list),
                            strerror(errno));
    if (status == 0)
        return APPLY_DONE;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EPERM)
        return apply_refuse(reason, "the CPUs %.200s are not one whole scheduling domain",
                            format_cpus(cpus, list));
    return apply_refuse(reason, "the CPUs %.200s cannot be probed: %s", format_cpus(cpus, list),
                        WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "the probe was killed");
}

/* True if the kernel still counts the thread on a CPU outside of its new domain. For the kernel, a
 * sleeping thread stays on the CPU on which it fell asleep. Until the thread wakes,
 * sched_setattr(2) checks the domain of that CPU (measured on Linux 6.1 and 6.18). */
static bool sleeps_on_old_cpu(pid_t tid, const struct attributes *wanted)
{
    struct identity now;
    return wanted->domain && wanted->policy == POLICY_DEADLINE && thread_look(tid, &now) &&
           !CPU_ISSET((size_t)now.cpu, &wanted->cpus);
}

/* Values measured just before a thread becomes SCHED_DEADLINE. */
struct before_promotion {
    /* CPU time of the thread, in ns; for a process's first thread, the CPU time of all threads of
     * the process, which is cheaper to read; -1: unknown */
    long long consumed;
    int our_cpu; /* the CPU that runs this program */
};

static long long consumed(const struct identity *identity)
{
    char path[64], text[64] = "";
    clockid_t clock;
    struct timespec time;
    if (identity->tid == identity->process)
        return clock_getcpuclockid(identity->tid, &clock) == 0 && clock_gettime(clock, &time) == 0
                   ? time.tv_sec * 1000000000LL + time.tv_nsec
                   : -1;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)identity->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    return got > 0 ? strtoll(text, NULL, 10) : -1;
}

static struct before_promotion measure_before(const struct identity *identity)
{
    return (struct before_promotion){.our_cpu = sched_getcpu(), .consumed = consumed(identity)};
}

/* Sets the attributes, and tries for 2 ms if the kernel refuses. On PREEMPT_RT, a thread that holds
 * a lock in the kernel is bound to its CPU (migrate_disable), whatever its affinity, and the kernel
 * refuses SCHED_DEADLINE to a bound thread. If the thread is preempted meanwhile, the refusal lasts
 * long. *before: the values before the last try. False: errno says why. */
static bool set_once_unbound(const struct identity *identity, const struct attributes *wanted,
                             struct before_promotion *before)
{
    static const struct timespec pause = {.tv_nsec = 200000};
    for (int tries = 0; tries < 10; tries++) {
        if (wanted->policy == POLICY_DEADLINE)
            *before = measure_before(identity);
        if (retry_set(identity->tid, wanted) == 0)
            return true;
        if (errno != EPERM || wanted->policy != POLICY_DEADLINE ||
            sleeps_on_old_cpu(identity->tid, wanted))
            return false;
        (void)nanosleep(&pause, NULL);
    }
    errno = EPERM;
    return false;
}

/* After a refusal with EPERM: true if the thread is bound to its CPU. If a child process can be
 * SCHED_DEADLINE on the same CPUs, the set of CPUs is not the cause of the refusal, so the thread
 * must be bound. */
static bool is_bound(const struct attributes *wanted)
{
    char ignored[APPLY_REASON];
    return wanted->policy == POLICY_DEADLINE &&
           scheduling_probe(&wanted->cpus, ignored) == APPLY_DONE;
}

static enum apply_result explain(pid_t tid, const struct attributes *wanted, char *reason)
{
    int error = errno;
    return error == EPERM && (sleeps_on_old_cpu(tid, wanted) || is_bound(wanted))
               ? APPLY_PENDING
               : kernel_refusal(error, tid, wanted, reason);
}

static bool is_alone(const struct identity *identity)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/task", (int)identity->process);
    /* the directory has two links, and one more for each thread */
    return stat(path, &status) == 0 && status.st_nlink == 2 + 1;
}

/* True if the thread has surely used up its runtime since it became SCHED_DEADLINE: it has run for
 * as long as its runtime since *before, on the CPU of this program. On another CPU the thread may
 * have run as an ordinary thread until it became SCHED_DEADLINE, so the result is false for another
 * CPU. */
static bool has_used_runtime(const struct identity *now, const struct identity *identity,
                             const struct attributes *wanted, const struct before_promotion *before)
{
    const long long has = consumed(identity);
    return now->cpu == before->our_cpu && before->consumed >= 0 &&
           has - before->consumed >= (long long)wanted->runtime * 1000 &&
           (identity->tid != identity->process || is_alone(identity));
}

/* The kernel loses the replenishment of a thread that was demoted while its runtime was used up.
 * When such a thread is made SCHED_DEADLINE again, it waits for ever (measured on Linux 6.1 and
 * 6.18). The signs are: the thread has no runtime left, its deadline does not change, and it does
 * not run.
 *
 * The remedy is to promote the thread (make it SCHED_DEADLINE) with its own parameters, and to
 * demote it after its 0-lag time. Then the kernel clears the thread's state (task_non_contending),
 * and the next promotion works. The remedy helps only while the thread runs or is runnable, not
 * while it sleeps. */
enum { RELEASES = 60 };
static const struct timespec between_releases = {.tv_nsec = 300000};

/* Demotes and promotes the thread until the kernel replenishes the thread's runtime again. REFUSED:
 * the kernel refuses, with errno. PENDING: the thread sleeps, or RELEASES tries were not enough. */
static enum apply_result restart_replenishment(const struct identity *identity,
                                               const struct attributes *wanted,
                                               struct before_promotion at)
{
    const struct attributes ordinary = {.policy = POLICY_OTHER,
                                        .reset_on_fork = wanted->reset_on_fork,
                                        .nice = wanted->nice};
    const pid_t tid = identity->tid;
    struct identity now;
    long long remaining, before, after;
    demote_read_budget(tid, &remaining, &before);
    after = before;
    for (int tries = 0; before != 0 && remaining <= 0 && after == before; tries++) {
        if (!thread_look(tid, &now))
            return APPLY_GONE;
        if (has_used_runtime(&now, identity, wanted, &at))
            return APPLY_DONE;
        if (!now.runnable)
            demote_return_bandwidth(tid, wanted);
        else if (tries == RELEASES)
            (void)demote(tid, wanted, &ordinary, &(struct overrun){0});
        if (!now.runnable || tries == RELEASES)
            return APPLY_PENDING;
        if (tries > 0)
            (void)nanosleep(&between_releases, NULL);
        if (retry_set(tid, &ordinary) != 0)
            return APPLY_REFUSED;
        at = measure_before(identity);
        if (retry_set(tid, wanted) != 0)
            return APPLY_REFUSED;
        demote_read_budget(tid, &remaining, &after);
    }
    return APPLY_DONE;
}

static enum apply_result set_wanted(const struct identity *identity,
                                    const struct attributes *wanted, bool promoted, char *reason)
{
    struct before_promotion before = {0};
    if (!set_once_unbound(identity, wanted, &before))
        return explain(identity->tid, wanted, reason);
    const enum apply_result done = wanted->policy == POLICY_DEADLINE && promoted
                                       ? restart_replenishment(identity, wanted, before)
                                       : APPLY_DONE;
    return done == APPLY_REFUSED ? explain(identity->tid, wanted, reason) : done;
}

/* Checks that a thread that has just become SCHED_DEADLINE gets its runtime. *overrun: the overrun
 * at its last demotion. REFUSED with EBUSY: the overrun is not paid back yet, and the thread is
 * ordinary again. */
static enum apply_result check_replenishment(const struct identity *identity,
                                             const struct attributes *wanted,
                                             const struct overrun *overrun,
                                             struct before_promotion before)
{
    const struct attributes ordinary = {.policy = POLICY_OTHER,
                                        .reset_on_fork = wanted->reset_on_fork,
                                        .nice = wanted->nice};
    long long remaining, deadline;
    demote_read_budget(identity->tid, &remaining, &deadline);
    if (overrun->last_deadline != 0 && deadline != overrun->last_deadline)
        /* The thread has got a new period, so its replenishment works. (It may have used up the
         * runtime of this period by now.) */
        return APPLY_DONE;
    if (overrun->deadline == 0 || deadline != overrun->deadline)
        return restart_replenishment(identity, wanted, before);
    if (remaining > 0 || thread_sleeps(identity->tid))
        return APPLY_DONE; /* the overrun is paid back */
    (void)retry_set(identity->tid, &ordinary);
    errno = EBUSY;
    return APPLY_REFUSED;
}

/* Makes the thread real-time. overrun: the last overrun of the thread, which the thread has paid
 * back by now; NULL: unknown. REFUSED: the kernel refuses, with errno. */
static enum apply_result promote(const struct identity *identity, const struct attributes *wanted,
                                 const struct overrun *overrun)
{
    const struct before_promotion before = measure_before(identity);
    if (retry_set(identity->tid, wanted) != 0)
        return APPLY_REFUSED;
    if (wanted->policy != POLICY_DEADLINE)
        return APPLY_DONE;
    return overrun != NULL ? check_replenishment(identity, wanted, overrun, before)
                           : restart_replenishment(identity, wanted, before);
}

/* Gives the thread its former attributes. First makes the thread ordinary, then moves it to its
 * former CPUs, then makes it real-time again if *former is real-time. This order is needed because
 * the kernel refuses to change the affinity of a SCHED_DEADLINE thread. */
static enum apply_result put_back(const struct identity *identity, const struct attributes *former,
                                  int domain, const struct placement *placement, char *reason)
{
    struct attributes now;
    pid_t tid = identity->tid;
    if (!retry_get(tid, &now))
        return errno == ESRCH ? APPLY_GONE : refuse_unseen(tid, reason);
    const struct move move = plan_move(identity, domain, placement);
    struct overrun overrun = {0};
    int done = demote(tid, &now, former, &overrun);
    if (done != 0)
        return kernel_refusal(errno, tid, former, reason);
    if (demote_note_counted(overrun.counted_us) &&
        (move.needed || former->policy == POLICY_DEADLINE))
        return APPLY_PENDING;
    if (move.needed && !policy_is_real_time(now.policy))
        demote_return_bandwidth(tid, former);
    enum apply_result moved =
        move.needed ? make_move(identity, &move, placement, reason) : APPLY_DONE;
    if (moved == APPLY_DONE)
        moved = set_cpus(tid, &former->cpus, reason);
    if (moved != APPLY_DONE || !policy_is_real_time(former->policy))
        return moved;
    moved = promote(identity, former, NULL);
    /* If the kernel refuses, the thread stays ordinary, because no grant covers the thread any
     * more. */
    return moved == APPLY_REFUSED ? kernel_refusal(errno, tid, former, reason) : moved;
}

/* Gives a thread new attributes and CPUs, in an order in which the thread is never real-time
 * outside its CPUs. An ordinary thread moves to the CPUs first. A thread is made ordinary first if
 * it leaves a domain, or if it is SCHED_DEADLINE, because the kernel does not change the affinity
 * of a SCHED_DEADLINE thread. */
static enum apply_result change(const struct identity *identity, const struct attributes *former,
                                const struct attributes *wanted, const struct placement *placement,
                                char *reason)
{
    pid_t tid = identity->tid;
    const struct move move = plan_move(identity, wanted_domain(wanted), placement);
    bool demoted =
        policy_is_real_time(former->policy) &&
        (move.needed ||
         (former->policy == POLICY_DEADLINE &&
          (wanted->policy != POLICY_DEADLINE || !CPU_EQUAL(&former->cpus, &wanted->cpus))));
    struct overrun overrun = {0};
    if (demoted)
        (void)demote(tid, former, former, &overrun);
    if (demote_note_counted(overrun.counted_us) &&
        (move.needed || wanted->policy == POLICY_DEADLINE))
        return APPLY_PENDING;
    enum apply_result done =
        move.needed ? make_move(identity, &move, placement, reason) : APPLY_DONE;
    if (done == APPLY_DONE && move.needed && !thread_is(tid, identity->started_by))
        /* checks the thread again, because a move takes so long that the id may belong to another
         * thread by now */
        done = errno == ESRCH ? APPLY_GONE : refuse_unseen(tid, reason);
    if (done == APPLY_DONE)
        done = set_cpus(tid, &wanted->cpus, reason);
    if (done == APPLY_DONE)
        done = set_wanted(identity, wanted, demoted || former->policy != POLICY_DEADLINE, reason);
    return done;
}

/* For a call whose thread has ended during the call. If another thread has the id now, the call has
 * changed the wrong thread, and this function makes that thread ordinary. If no process has waited
 * for the ended thread, the ended thread still has the id. It became SCHED_DEADLINE after its end,
 * and this function takes its bandwidth back. */
static enum apply_result demote_successor(pid_t tid, const struct attributes *made)
{
    struct identity identity;
    if (thread_look(tid, &identity) && (!identity.ended || made->policy == POLICY_DEADLINE))
        demote_to_ordinary(tid, made);
    return APPLY_GONE;
}

/* Checks whether the thread has ended during the call. If so, makes sure that no other thread with
 * the same id stays real-time. */
static enum apply_result recheck_thread(int pidfd, pid_t tid, const struct attributes *made,
                                        enum apply_result done)
{
    return done == APPLY_DONE && policy_is_real_time(made->policy) && thread_has_ended(pidfd)
               ? demote_successor(tid, made)
               : done;
}

enum apply_result scheduling_apply(const struct target *target, uid_t owner,
                                   const struct attributes *wanted,
                                   const struct placement *placement,
                                   char reason[static APPLY_REASON])
{
    struct identity identity;
    struct attributes former;
    const pid_t tid = target->tid;
    int pidfd = hold(target, true, &identity);
    if (pidfd < 0)
        return APPLY_GONE;
    enum apply_result done = check_owner(&identity, owner, reason);
    if (done == APPLY_DONE && !retry_get(tid, &former))
        done = errno == ESRCH ? APPLY_GONE : refuse_unseen(tid, reason);
    if (done != APPLY_DONE) {
        let_go(target, pidfd);
        return done;
    }
    int domain = present_domain(&identity, placement);
    done = change(&identity, &former, wanted, placement, reason);
    /* The thread may have changed its uid, or ended, during the call. */
    bool unseen =
             (done == APPLY_DONE || done == APPLY_PENDING) && !thread_owner(pidfd, tid, &identity),
         ended = thread_has_ended(pidfd);
    if (unseen && !ended)
        done = refuse_unseen(tid, reason);
    if ((done == APPLY_DONE || done == APPLY_PENDING) && !ended &&
        check_owner(&identity, owner, reason) != APPLY_DONE)
        done = APPLY_REFUSED;
    if ((done == APPLY_REFUSED || done == APPLY_BUSY) && !ended) {
        char ignored[APPLY_REASON];
        (void)put_back(&identity, &former, domain, placement, ignored);
    }
    if (ended)
        done = done == APPLY_DONE ? demote_successor(tid, wanted) : APPLY_GONE;
    let_go(target, pidfd);
    return done;
}

enum apply_result scheduling_adjust(const struct target *target, const struct attributes *wanted,
                                    const struct placement *placement,
                                    char reason[static APPLY_REASON])
{
    struct identity identity;
    struct attributes now;
    const pid_t tid = target->tid;
    int pidfd = hold(target, placement->group != NULL, &identity);
    if (pidfd < 0)
        return APPLY_GONE;
    enum apply_result done = APPLY_DONE;
    if (!retry_get(tid, &now))
        done = APPLY_GONE;
    else if (now.policy != wanted->policy)
        done = apply_refuse(reason,
                            "thread %d is under %s, not %s: another program changed its policy",
                            (int)tid, policy_name(now.policy), policy_name(wanted->policy));
    if (done == APPLY_DONE &&
        (now.priority != wanted->priority || !CPU_EQUAL(&now.cpus, &wanted->cpus))) {
        int domain = present_domain(&identity, placement);
        char ignored[APPLY_REASON];
        done = change(&identity, &now, wanted, placement, reason);
        if (done == APPLY_REFUSED || done == APPLY_BUSY)
            (void)put_back(&identity, &now, domain, placement, ignored);
        done = recheck_thread(pidfd, tid, wanted, done);
    }
    let_go(target, pidfd);
    return done;
}

enum apply_result scheduling_restore(const struct target *target, const struct attributes *former,
                                     const struct placement *placement,
                                     char reason[static APPLY_REASON])
{
    struct identity identity;
    int pidfd = hold(target, placement->group != NULL, &identity);
    if (pidfd < 0)
        return APPLY_GONE;
    enum apply_result done = put_back(&identity, former, wanted_domain(former), placement, reason);
    done = recheck_thread(pidfd, target->tid, former, done);
    let_go(target, pidfd);
    return done;
}

void scheduling_suspend(const struct target *target, struct overrun *overrun)
{
    struct identity identity;
    struct attributes now;
    int pidfd = hold(target, false, &identity);
    if (pidfd < 0)
        return;
    if (retry_get(target->tid, &now) && now.policy == POLICY_DEADLINE) {
        const struct attributes ordinary = {.policy = POLICY_OTHER,
                                            .reset_on_fork = true,
                                            .nice = now.nice,
                                            .cpus = now.cpus};
        (void)demote(target->tid, &now, &ordinary, overrun);
    }
    let_go(target, pidfd);
}

enum apply_result scheduling_resume(const struct target *target, const struct attributes *granted,
                                    const struct overrun *overrun)
{
    struct identity identity;
    int pidfd = hold(target, false, &identity);
    if (pidfd < 0)
        return APPLY_GONE;
    enum apply_result done =
        recheck_thread(pidfd, target->tid, granted, promote(&identity, granted, overrun));
    let_go(target, pidfd);
    return done;
}

bool scheduling_end_reclaim(const struct target *target)
{
    struct identity identity;
    struct attributes now;
    bool done = true;
    int pidfd = hold(target, false, &identity);
    if (pidfd < 0)
        return true;
    if (retry_get(target->tid, &now) && now.policy == POLICY_DEADLINE && now.reclaim) {
        now.reclaim = false;
        done = retry_set_parameters(target->tid, &now) == 0;
    }
    let_go(target, pidfd);
    return done;
}
