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

uint64_t scheduling_owed(void)
{
    return demote_owed();
}

/* Then whoever has the id now has got it since, be it within the same clock tick. */
static bool passed_has_ended(const struct target *target)
{
    return target->pidfd >= 0 && thread_has_ended(target->pidfd);
}

/* The pidfd was opened when the thread was known, so it is that one's for ever. Root's may be a kernel thread: that only /proc tells. */
static bool is_passed(const struct target *target, struct identity *identity)
{
    *identity = (struct identity){.started_by = target->started_by};
    return target->pidfd >= 0 && thread_of_pidfd(target->pidfd, identity) && identity->tid == target->tid && identity->real_uid != 0 &&
           !passed_has_ended(target);
}

/* Opens the thread and proves that it is the one that is meant. Returns a pidfd or -1, with errno ESRCH if it is not.
 * Process and uids are known after it only with `whole`. */
static int hold_once(const struct target *target, bool whole, struct identity *identity)
{
    const pid_t tid = target->tid;
    int pidfd = thread_open(tid);
    if (pidfd < 0)
        return -1;
    bool seen = thread_look(tid, identity) && (!whole || thread_owner(pidfd, tid, identity));
    int error = seen ? ESRCH : errno;
    bool same = seen && identity->start <= target->started_by;
    identity->started_by = target->started_by; /* one thread has one name */
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
    demote_end(pidfd);
    if (pidfd != target->pidfd)
        close(pidfd);
}

static enum apply_result check_owner(const struct identity *identity, uid_t owner, char *reason)
{
    if (identity->kernel)
        return apply_refuse(reason, "thread %d is a kernel thread", (int)identity->tid);
    if (thread_is_of(identity, owner))
        return APPLY_DONE;
    return apply_refuse(reason, "thread %d runs as uid %u (effective %u, saved %u, for files %u), the spec is of uid %u", (int)identity->tid,
                          identity->real_uid, identity->effective_uid, identity->saved_uid, identity->files_uid, owner);
}

static enum apply_result refuse_unseen(pid_t tid, char *reason)
{
    return apply_refuse(reason, "thread %d cannot be looked at: %s", (int)tid, strerror(errno));
}

static enum apply_result set_cpus(pid_t tid, const cpu_set_t *wanted, char *reason)
{
    char cpus[CPU_LIST_TEXT];
    cpu_set_t now;
    if (sched_getaffinity(tid, sizeof now, &now) == 0 && CPU_EQUAL(&now, wanted))
        return APPLY_DONE; /* what is not set is not handed on to children either, who may leave the domain */
    int result, tries = 0;
    do
        result = sched_setaffinity(tid, sizeof *wanted, wanted);
    while (result != 0 && retry_again(tries++));
    if (result != 0) {
        if (errno == ESRCH)
            return APPLY_GONE;
        return apply_refuse(reason, "thread %d may not run on CPU %.200s: %s", (int)tid, format_cpus(wanted, cpus),
                      errno == EINVAL ? "they are offline or outside its cpuset" : strerror(errno));
    }
    /* The kernel cuts the mask to the thread's cpuset and the CPUs online without a word. */
    if (sched_getaffinity(tid, sizeof now, &now) == 0 && !CPU_EQUAL(&now, wanted))
        return apply_refuse(reason, "of the CPUs %.200s some are offline or outside the cpuset of thread %d", format_cpus(wanted, cpus), (int)tid);
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

/* The CPU whose domain a thread is to be in, or -1. */
static int wanted_domain(const struct attributes *wanted)
{
    return wanted->domain ? only_cpu(&wanted->cpus) : -1;
}

/* Where it is, against where it is to be. */
struct move {
    int domain;
    char from[LEAF_NAME], to[LEAF_NAME]; /* "": not in a domain */
    bool needed;
};

static struct move plan_move(const struct identity *identity, int domain, const struct placement *placement)
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

/* For an ordinary thread. */
static enum apply_result make_move(const struct identity *identity, const struct move *move, const struct placement *placement, char *reason)
{
    enum apply_result done = move->from[0] == '\0' ? APPLY_DONE
                                               : leaf_leave(identity, move->from, placement->group, placement->whole_process, reason);
    return done == APPLY_DONE && move->domain >= 0 ? leaf_enter(identity, move->domain, placement->whole_process, reason) : done;
}

enum apply_result scheduling_probe(const cpu_set_t *cpus, char reason[static APPLY_REASON])
{
    /* Enough for the child to end in; where it is not to be had, the kernel has looked at the CPUs before. */
    const struct attributes wanted = {.policy = POLICY_DEADLINE, .reset_on_fork = true, .runtime = 10000, .deadline = 100000, .period = 100000};
    char list[CPU_LIST_TEXT];
    int status;
    pid_t child = fork();
    if (child == 0) {
        bool good = sched_setaffinity(0, sizeof *cpus, cpus) == 0 && (retry_set(0, &wanted) == 0 || errno == EBUSY);
        _exit(good ? 0 : errno);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return apply_refuse(reason, "a probe of the CPUs %.200s: %s", format_cpus(cpus, list), strerror(errno));
    if (status == 0)
        return APPLY_DONE;
    if (WIFEXITED(status) && WEXITSTATUS(status) == EPERM)
        return apply_refuse(reason, "the CPUs %.200s are not all of one scheduling domain", format_cpus(cpus, list));
    return apply_refuse(reason, "a probe of the CPUs %.200s: %s", format_cpus(cpus, list), WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "it was killed");
}

/* A thread that sleeps is, for the kernel, still on the CPU where it went to sleep, and is held against that one's
 * domain until it wakes (measured on 6.1 and 6.18). */
static bool has_yet_to_arrive(pid_t tid, const struct attributes *wanted)
{
    struct identity now;
    return wanted->domain && wanted->policy == POLICY_DEADLINE && thread_look(tid, &now) && !CPU_ISSET((size_t)now.cpu, &wanted->cpus);
}

/* Just before a thread becomes SCHED_DEADLINE. */
struct moment {
    long long consumed; /* CPU time that it has had, ns; of a process's first thread, whose own costs more to be had, with that of the others */
    int here;           /* the CPU that this program is on */
};

/* -1: that cannot be told. */
static long long consumed(const struct identity *identity)
{
    char path[64], text[64] = "";
    clockid_t clock;
    struct timespec time;
    if (identity->tid == identity->process)
        return clock_getcpuclockid(identity->tid, &clock) == 0 && clock_gettime(clock, &time) == 0 ? time.tv_sec * 1000000000LL + time.tv_nsec : -1;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)identity->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    return got > 0 ? strtoll(text, NULL, 10) : -1;
}

static struct moment moment_of(const struct identity *identity)
{
    return (struct moment){.here = sched_getcpu(), .consumed = consumed(identity)};
}

/* On PREEMPT_RT a thread that holds a lock in the kernel is bound to the CPU it is on (migrate_disable), whatever its affinity,
 * and is refused; for long, if it is preempted there. *before: just before it became SCHED_DEADLINE. */
static bool set_when_unbound(const struct identity *identity, const struct attributes *wanted, struct moment *before)
{
    static const struct timespec pause = {.tv_nsec = 200000};
    for (int tries = 0; tries < 10; tries++) {
        if (wanted->policy == POLICY_DEADLINE)
            *before = moment_of(identity);
        if (retry_set(identity->tid, wanted) == 0)
            return true;
        if (errno != EPERM || wanted->policy != POLICY_DEADLINE || has_yet_to_arrive(identity->tid, wanted))
            return false;
        (void)nanosleep(&pause, NULL);
    }
    errno = EPERM;
    return false;
}

/* It is not the CPUs: another thread can be SCHED_DEADLINE there. */
static bool is_bound(const struct attributes *wanted)
{
    char ignored[APPLY_REASON];
    return wanted->policy == POLICY_DEADLINE && scheduling_probe(&wanted->cpus, ignored) == APPLY_DONE;
}

static enum apply_result refused(pid_t tid, const struct attributes *wanted, char *reason)
{
    int error = errno;
    return error == EPERM && (has_yet_to_arrive(tid, wanted) || is_bound(wanted)) ? APPLY_PENDING : refusal(error, tid, wanted, reason);
}

static bool is_alone(const struct identity *identity)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/task", (int)identity->process);
    return stat(path, &status) == 0 && status.st_nlink == 2 + 1; /* one for each thread */
}

/* It has used its runtime up by right: it came before this program on its CPU, and has run so long. One that is elsewhere may have
 * run on as an ordinary thread until it was SCHED_DEADLINE. */
static bool has_run(const struct identity *now, const struct identity *identity, const struct attributes *wanted, const struct moment *before)
{
    const long long has = consumed(identity);
    return now->cpu == before->here && before->consumed >= 0 && has - before->consumed >= (long long)wanted->runtime * 1000 &&
           (identity->tid != identity->process || is_alone(identity));
}

/* The kernel forgets the replenishment of a thread that was demoted while its runtime was used up: made SCHED_DEADLINE
 * again, it waits for ever (measured on 6.1 and 6.18). Its runtime, not above zero, shows it, and that its deadline stays
 * where it was, and that it does not run. Demoted once more, as it is, it is forgiven if its 0-lag time is past
 * (task_non_contending), and can be promoted; but only if it runs or could, not if it sleeps. */
enum { RELEASES = 60 };
static const struct timespec between_releases = {.tv_nsec = 300000};

/* REFUSED: by the kernel, with errno. */
static enum apply_result release_forgotten(const struct identity *identity, const struct attributes *wanted, struct moment at)
{
    const struct attributes ordinary = {.policy = POLICY_OTHER, .reset_on_fork = wanted->reset_on_fork, .nice = wanted->nice};
    const pid_t tid = identity->tid;
    struct identity now;
    long long remaining, before, after;
    demote_budget(tid, &remaining, &before);
    after = before;
    for (int tries = 0; before != 0 && remaining <= 0 && after == before; tries++) {
        if (!thread_look(tid, &now))
            return APPLY_GONE;
        if (has_run(&now, identity, wanted, &at))
            return APPLY_DONE;
        if (!now.runnable)
            demote_settle(tid, wanted);
        else if (tries == RELEASES)
            (void)demote(tid, wanted, &ordinary, &(struct overrun){0});
        if (!now.runnable || tries == RELEASES)
            return APPLY_PENDING;
        if (tries > 0)
            (void)nanosleep(&between_releases, NULL);
        if (retry_set(tid, &ordinary) != 0)
            return APPLY_REFUSED;
        at = moment_of(identity);
        if (retry_set(tid, wanted) != 0)
            return APPLY_REFUSED;
        demote_budget(tid, &remaining, &after);
    }
    return APPLY_DONE;
}

static enum apply_result set_wanted(const struct identity *identity, const struct attributes *wanted, bool promoted, char *reason)
{
    struct moment before = {0};
    if (!set_when_unbound(identity, wanted, &before))
        return refused(identity->tid, wanted, reason);
    const enum apply_result done = wanted->policy == POLICY_DEADLINE && promoted ? release_forgotten(identity, wanted, before) : APPLY_DONE;
    return done == APPLY_REFUSED ? refused(identity->tid, wanted, reason) : done;
}

/* Whether it is in force that has just been made SCHED_DEADLINE, and when it was demoted had the deadline `seen`. */
static enum apply_result look_whether_forgiven(const struct identity *identity, const struct attributes *wanted, const struct overrun *overrun, struct moment before)
{
    const struct attributes ordinary = {.policy = POLICY_OTHER, .reset_on_fork = wanted->reset_on_fork, .nice = wanted->nice};
    long long remaining, deadline;
    demote_budget(identity->tid, &remaining, &deadline);
    if (overrun->seen != 0 && deadline != overrun->seen)
        return APPLY_DONE; /* it runs in a new period, which it may have used up by now */
    if (overrun->deadline == 0 || deadline != overrun->deadline)
        return release_forgotten(identity, wanted, before);
    if (remaining > 0 || thread_sleeps(identity->tid))
        return APPLY_DONE; /* that is paid back */
    (void)retry_set(identity->tid, &ordinary);
    errno = EBUSY;
    return APPLY_REFUSED;
}

/* `overrun`: what is known of it, and paid back; NULL: nothing. REFUSED: by the kernel, with errno. */
static enum apply_result promote(const struct identity *identity, const struct attributes *wanted, const struct overrun *overrun)
{
    const struct moment before = moment_of(identity);
    if (retry_set(identity->tid, wanted) != 0)
        return APPLY_REFUSED;
    if (wanted->policy != POLICY_DEADLINE)
        return APPLY_DONE;
    return overrun != NULL ? look_whether_forgiven(identity, wanted, overrun, before) : release_forgotten(identity, wanted, before);
}

/* Out of the real-time class first, then off its CPUs, then, if it was real-time before, into that again: the
 * affinity of a SCHED_DEADLINE thread is guarded by the kernel. */
static enum apply_result put_back(const struct identity *identity, const struct attributes *former, int domain, const struct placement *placement,
                              char *reason)
{
    struct attributes now;
    pid_t tid = identity->tid;
    if (!retry_get(tid, &now))
        return errno == ESRCH ? APPLY_GONE : refuse_unseen(tid, reason);
    const struct move move = plan_move(identity, domain, placement);
    struct overrun overrun = {0};
    int done = demote(tid, &now, former, &overrun);
    if (done != 0)
        return refusal(errno, tid, former, reason);
    if (demote_owes(overrun.due) && (move.needed || former->policy == POLICY_DEADLINE))
        return APPLY_PENDING;
    if (move.needed && !policy_is_real_time(now.policy))
        demote_settle(tid, former);
    enum apply_result moved = move.needed ? make_move(identity, &move, placement, reason) : APPLY_DONE;
    if (moved == APPLY_DONE)
        moved = set_cpus(tid, &former->cpus, reason);
    if (moved != APPLY_DONE || !policy_is_real_time(former->policy))
        return moved;
    moved = promote(identity, former, NULL);
    return moved == APPLY_REFUSED ? refusal(errno, tid, former, reason) : moved; /* ordinary is what it stays: nobody granted it more */
}

/* Never real-time outside its CPUs: an ordinary thread is moved first, and one that leaves a domain, or SCHED_DEADLINE,
 * whose affinity the kernel guards, is demoted first. */
static enum apply_result change(const struct identity *identity, const struct attributes *former, const struct attributes *wanted,
                            const struct placement *placement, char *reason)
{
    pid_t tid = identity->tid;
    const struct move move = plan_move(identity, wanted_domain(wanted), placement);
    bool demoted = policy_is_real_time(former->policy) && (move.needed || (former->policy == POLICY_DEADLINE &&
                                                                           (wanted->policy != POLICY_DEADLINE || !CPU_EQUAL(&former->cpus, &wanted->cpus))));
    struct overrun overrun = {0};
    if (demoted)
        (void)demote(tid, former, former, &overrun);
    if (demote_owes(overrun.due) && (move.needed || wanted->policy == POLICY_DEADLINE))
        return APPLY_PENDING;
    enum apply_result done = move.needed ? make_move(identity, &move, placement, reason) : APPLY_DONE;
    if (done == APPLY_DONE && move.needed && !thread_is(tid, identity->started_by))
        done = errno == ESRCH ? APPLY_GONE : refuse_unseen(tid, reason); /* a move takes long enough for the id to be another's */
    if (done == APPLY_DONE)
        done = set_cpus(tid, &wanted->cpus, reason);
    if (done == APPLY_DONE)
        done = set_wanted(identity, wanted, demoted || former->policy != POLICY_DEADLINE, reason);
    return done;
}

/* The thread has left its id under our hands, and whoever has that now was not meant. One that has ended and has not been waited for
 * would keep the bandwidth that it was given after its end. */
static enum apply_result left(pid_t tid, const struct attributes *made)
{
    struct identity identity;
    if (thread_look(tid, &identity) && (!identity.ended || made->policy == POLICY_DEADLINE))
        demote_to_ordinary(tid, made);
    return APPLY_GONE;
}

/* Real-time is only who was meant. */
static enum apply_result unless_left(int pidfd, pid_t tid, const struct attributes *made, enum apply_result done)
{
    return done == APPLY_DONE && policy_is_real_time(made->policy) && thread_has_ended(pidfd) ? left(tid, made) : done;
}

enum apply_result scheduling_apply(const struct target *target, uid_t owner, const struct attributes *wanted, const struct placement *placement,
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
    /* It may have changed its uid, or ended, under our hands. */
    bool unseen = (done == APPLY_DONE || done == APPLY_PENDING) && !thread_owner(pidfd, tid, &identity), ended = thread_has_ended(pidfd);
    if (unseen && !ended)
        done = refuse_unseen(tid, reason);
    if ((done == APPLY_DONE || done == APPLY_PENDING) && !ended && check_owner(&identity, owner, reason) != APPLY_DONE)
        done = APPLY_REFUSED;
    if ((done == APPLY_REFUSED || done == APPLY_BUSY) && !ended) {
        char ignored[APPLY_REASON];
        (void)put_back(&identity, &former, domain, placement, ignored);
    }
    if (ended)
        done = done == APPLY_DONE ? left(tid, wanted) : APPLY_GONE;
    let_go(target, pidfd);
    return done;
}

enum apply_result scheduling_adjust(const struct target *target, const struct attributes *wanted, const struct placement *placement,
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
        done = apply_refuse(reason, "thread %d is under %s, not %s: somebody else changed it", (int)tid, policy_name(now.policy),
                      policy_name(wanted->policy));
    if (done == APPLY_DONE && (now.priority != wanted->priority || !CPU_EQUAL(&now.cpus, &wanted->cpus))) {
        int domain = present_domain(&identity, placement);
        char ignored[APPLY_REASON];
        done = change(&identity, &now, wanted, placement, reason);
        if (done == APPLY_REFUSED || done == APPLY_BUSY)
            (void)put_back(&identity, &now, domain, placement, ignored);
        done = unless_left(pidfd, tid, wanted, done);
    }
    let_go(target, pidfd);
    return done;
}

enum apply_result scheduling_restore(const struct target *target, const struct attributes *former, const struct placement *placement,
                              char reason[static APPLY_REASON])
{
    struct identity identity;
    int pidfd = hold(target, placement->group != NULL, &identity);
    if (pidfd < 0)
        return APPLY_GONE;
    enum apply_result done = put_back(&identity, former, wanted_domain(former), placement, reason);
    done = unless_left(pidfd, target->tid, former, done);
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
        const struct attributes ordinary = {.policy = POLICY_OTHER, .reset_on_fork = true, .nice = now.nice, .cpus = now.cpus};
        (void)demote(target->tid, &now, &ordinary, overrun);
    }
    let_go(target, pidfd);
}

enum apply_result scheduling_resume(const struct target *target, const struct attributes *granted, const struct overrun *overrun)
{
    struct identity identity;
    int pidfd = hold(target, false, &identity);
    if (pidfd < 0)
        return APPLY_GONE;
    enum apply_result done = unless_left(pidfd, target->tid, granted, promote(&identity, granted, overrun));
    let_go(target, pidfd);
    return done;
}
