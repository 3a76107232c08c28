#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "transient.h"
#include "schedattr.h"
#include "units.h"

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* the kernel has this flag since Linux 6.9 */
#endif
/* flags of a thread in field 9 of /proc/PID/stat (include/linux/sched.h) */
enum { PF_EXITING_FLAG = 0x00000004, PF_KTHREAD_FLAG = 0x00200000 };

static const struct {
    const char *name;
    unsigned number;
} policies[] = {
    [POLICY_OTHER] = {"other", SCHED_NORMAL}, [POLICY_BATCH] = {"batch", SCHED_BATCH},
    [POLICY_IDLE] = {"idle", SCHED_IDLE},     [POLICY_FIFO] = {"fifo", SCHED_FIFO},
    [POLICY_RR] = {"rr", SCHED_RR},           [POLICY_DEADLINE] = {"deadline", SCHED_DEADLINE},
};
enum { POLICIES = sizeof policies / sizeof *policies };

const char *policy_name(enum policy policy)
{
    return policies[policy].name;
}

bool policy_is_real_time(enum policy policy)
{
    return policy == POLICY_FIFO || policy == POLICY_RR || policy == POLICY_DEADLINE;
}

bool policy_from_name(const char *name, enum policy *policy)
{
    for (int i = 0; i < POLICIES; i++)
        if (strcmp(policies[i].name, name) == 0) {
            *policy = (enum policy)i;
            return true;
        }
    return false;
}

static bool may_pass(int *tries)
{
    return is_transient(errno) && ++*tries < TRANSIENT_TRIES;
}

int thread_open(pid_t tid)
{
    int fd, tries = 0;
    do
        fd = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD);
    while (fd < 0 && may_pass(&tries));
    if (fd >= 0 || errno != EINVAL)
        return fd;
    struct identity identity;
    if (!thread_identify(tid, &identity))
        return -1;
    return (int)syscall(SYS_pidfd_open, identity.process, 0);
}

bool thread_has_ended(int pidfd)
{
    struct pollfd poll_one = {.fd = pidfd, .events = POLLIN};
    return poll(&poll_one, 1, 0) > 0;
}

static bool read_proc_once(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (errno == ENOENT)
            errno = ESRCH;
        return false;
    }
    ssize_t got = read(fd, text, size - 1);
    int error = errno;
    close(fd);
    if (got <= 0) {
        errno = got == 0 ? ESRCH : error;
        return false;
    }
    text[got] = '\0';
    return true;
}

static bool read_proc(pid_t tid, const char *file, char *text, size_t size)
{
    char path[80];
    bool good;
    int tries = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)tid, file);
    do
        good = read_proc_once(path, text, size);
    while (!good && may_pass(&tries));
    return good;
}

/* Reads the stat file of the thread: `file` in the directory /proc/PROCESS. */
static bool look(pid_t process, const char *file, pid_t tid, struct identity *identity)
{
    char text[1024]; /* the name and 51 numbers */
    char state;
    unsigned flags;
    unsigned long long start;
    *identity = (struct identity){.tid = tid};
    if (!read_proc(process, file, text, sizeof text))
        return false;
    /* The user chooses the name in parentheses, which may hold any byte. So the fields start after
     * the last ')'. */
    const char *fields = strrchr(text, ')');
    if (fields == NULL ||
        sscanf(fields + 1,
               " %c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu "
               "%*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*d %d",
               &state, &flags, &start, &identity->cpu) != 4) {
        errno = EPROTO;
        return false;
    }
    identity->start = identity->started_by = start;
    identity->kernel = (flags & PF_KTHREAD_FLAG) != 0;
    identity->runnable = state == 'R';
    identity->ended = state == 'Z' || state == 'X' || (flags & PF_EXITING_FLAG) != 0;
    return true;
}

bool thread_look(pid_t tid, struct identity *identity)
{
    return look(tid, "stat", tid, identity);
}

bool thread_look_within(pid_t process, pid_t tid, struct identity *identity)
{
    char file[32];
    snprintf(file, sizeof file, "task/%d/stat", (int)tid);
    return look(process, file, tid, identity);
}

bool thread_sleeps(pid_t tid)
{
    struct identity now;
    return thread_look(tid, &now) && !now.runnable;
}

/* As in include/uapi/linux/pidfd.h of Linux 6.13. */
struct kernel_pidfd_info {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
};
enum { PIDFD_INFO_PID_BIT = 1, PIDFD_INFO_CREDS_BIT = 2 };

bool thread_of_pidfd(int pidfd, struct identity *identity)
{
    struct kernel_pidfd_info info = {.mask = PIDFD_INFO_PID_BIT | PIDFD_INFO_CREDS_BIT};
    if (pidfd < 0 || ioctl(pidfd, THREAD_PIDFD_GET_INFO, &info) != 0 ||
        (~info.mask & (PIDFD_INFO_PID_BIT | PIDFD_INFO_CREDS_BIT)) != 0)
        return false;
    identity->tid = (pid_t)info.pid;
    identity->process = (pid_t)info.tgid;
    identity->real_uid = info.ruid;
    identity->effective_uid = info.euid;
    identity->saved_uid = info.suid;
    identity->files_uid = info.fsuid;
    return true;
}

bool thread_owner(int pidfd, pid_t tid, struct identity *identity)
{
    char text[4096];
    if (thread_of_pidfd(pidfd, identity))
        return true;
    if (!read_proc(tid, "status", text, sizeof text))
        return false;
    const char *process = strstr(text, "\nTgid:"), *uids = strstr(text, "\nUid:");
    if (process == NULL || uids == NULL || sscanf(process, "\nTgid: %d", &identity->process) != 1 ||
        sscanf(uids, "\nUid: %u %u %u %u", &identity->real_uid, &identity->effective_uid,
               &identity->saved_uid, &identity->files_uid) != 4) {
        errno = EPROTO;
        return false;
    }
    return true;
}

bool thread_owner_of(pid_t tid, struct identity *identity)
{
    const int pidfd = (int)syscall(SYS_pidfd_open, tid, PIDFD_THREAD);
    const bool seen = thread_owner(pidfd, tid, identity);
    if (pidfd >= 0)
        close(pidfd);
    return seen;
}

bool thread_identify(pid_t tid, struct identity *identity)
{
    return thread_look(tid, identity) && thread_owner(-1, tid, identity);
}

bool thread_is(pid_t tid, uint64_t started_by)
{
    struct identity now;
    if (!thread_look(tid, &now))
        return false;
    errno = ESRCH;
    return now.start <= started_by;
}

bool thread_is_of(const struct identity *identity, uid_t owner)
{
    return owner == 0 || (identity->real_uid == owner && identity->effective_uid == owner &&
                          identity->saved_uid == owner && identity->files_uid == owner);
}

uint64_t thread_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    const uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
    return (uint64_t)now.tv_sec * ticks + (uint64_t)now.tv_nsec / (1000000000 / ticks);
}

int thread_find(pid_t tid, bool with_start, struct identity *identity)
{
    int pidfd = thread_open(tid);
    if (pidfd < 0)
        return -1;
    *identity = (struct identity){.tid = tid};
    /* Only /proc shows whether a thread of root is a kernel thread, so the pidfd does not suffice
     * for root. */
    bool by_pidfd = !with_start && thread_of_pidfd(pidfd, identity) && identity->tid == tid &&
                    identity->real_uid != 0;
    bool seen = by_pidfd || (thread_look(tid, identity) && thread_owner(pidfd, tid, identity));
    int error = seen ? ESRCH : errno;
    /* the check of the pidfd below proves that the thread lived at this time */
    if (by_pidfd)
        identity->started_by = thread_now();
    if (seen && !identity->ended && !thread_has_ended(pidfd))
        return pidfd;
    close(pidfd);
    errno = error;
    return -1;
}

bool thread_attributes(pid_t tid, struct attributes *attributes)
{
    struct kernel_sched_attr kernel = {.size = sizeof kernel};
    memset(attributes, 0, sizeof *attributes);
    if (sched_getattr_of(tid, &kernel) != 0 ||
        sched_getaffinity(tid, sizeof attributes->cpus, &attributes->cpus) != 0)
        return false;
    for (int i = 0; i < POLICIES; i++)
        if (policies[i].number == kernel.policy)
            attributes->policy = (enum policy)i;
    attributes->reset_on_fork = (kernel.flags & SCHED_FLAG_RESET_ON_FORK) != 0;
    attributes->priority = (int)kernel.priority;
    /* sched_getattr returns no nice value under real-time policies, but getpriority does */
    attributes->nice = policy_is_real_time(attributes->policy)
                           ? getpriority(PRIO_PROCESS, (id_t)tid)
                           : kernel.nice;
    attributes->runtime = kernel.runtime / 1000;
    attributes->deadline = kernel.deadline / 1000;
    attributes->period = kernel.period / 1000;
    const bool is_deadline = attributes->policy == POLICY_DEADLINE;
    attributes->reclaim = is_deadline && (kernel.flags & SCHED_FLAG_RECLAIM) != 0;
    attributes->overrun_signal = is_deadline && (kernel.flags & SCHED_FLAG_DL_OVERRUN) != 0;
    return true;
}

bool attributes_show(const struct attributes *plan, const struct attributes *now)
{
    if (plan->policy != now->policy || !CPU_EQUAL(&plan->cpus, &now->cpus) || !now->reset_on_fork)
        return false;
    if (plan->policy == POLICY_DEADLINE)
        return plan->runtime == now->runtime && plan->deadline == now->deadline &&
               plan->period == now->period && plan->overrun_signal == now->overrun_signal &&
               (plan->reclaim || !now->reclaim);
    return plan->priority == now->priority;
}

int64_t thread_started(const struct identity *identity)
{
    struct timespec real, boot;
    clock_gettime(CLOCK_REALTIME, &real);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    int64_t booted =
        ((int64_t)real.tv_sec - boot.tv_sec) * 1000000000 + real.tv_nsec - boot.tv_nsec;
    return booted + (int64_t)identity->start * (1000000000 / sysconf(_SC_CLK_TCK));
}

/* Joins prefix and key. Does not use printf(3), which is slow, because an attachment has two dozen
 * of these keys. */
static const char *with_prefix(char name[static 48], const char *prefix, const char *key)
{
    if (prefix[0] == '\0')
        return key;
    const size_t length = strlen(prefix);
    memcpy(name, prefix, length);
    memcpy(name + length, key, strlen(key) + 1);
    return name;
}

void attributes_add(struct paragraph_output *output, const char *prefix,
                    const struct attributes *attributes)
{
    char name[48], cpus[CPU_LIST_TEXT];
    paragraph_add(output, with_prefix(name, prefix, "policy"), policy_name(attributes->policy));
    if (attributes->reset_on_fork)
        paragraph_add(output, with_prefix(name, prefix, "reset_on_fork"), "1");
    if (attributes->priority != 0)
        paragraph_add_number(output, with_prefix(name, prefix, "priority"),
                             (uint64_t)attributes->priority);
    if (attributes->nice == 0 &&
        (attributes->policy == POLICY_OTHER || attributes->policy == POLICY_BATCH))
        paragraph_add(output, with_prefix(name, prefix, "nice"), "0");
    else if (attributes->nice != 0)
        paragraph_add_format(output, with_prefix(name, prefix, "nice"), "%d", attributes->nice);
    if (attributes->policy == POLICY_DEADLINE) {
        paragraph_add_number(output, with_prefix(name, prefix, "runtime"), attributes->runtime);
        paragraph_add_number(output, with_prefix(name, prefix, "deadline"), attributes->deadline);
        paragraph_add_number(output, with_prefix(name, prefix, "period"), attributes->period);
        paragraph_add_stated(output, with_prefix(name, prefix, "reclaim"), attributes->reclaim);
        paragraph_add_stated(output, with_prefix(name, prefix, "overrun_signal"),
                             attributes->overrun_signal);
    }
    paragraph_add(output, with_prefix(name, prefix, "cpus"), format_cpus(&attributes->cpus, cpus));
    if (attributes->domain)
        paragraph_add(output, with_prefix(name, prefix, "domain"), "1");
}

static bool get_number(const struct paragraph *paragraph, const char *prefix, const char *key,
                       uint64_t max, uint64_t *number)
{
    char name[48];
    *number = 0;
    return paragraph_get_number(paragraph, with_prefix(name, prefix, key), max, number) >= 0;
}

bool attributes_get(const struct paragraph *paragraph, const char *prefix,
                    struct attributes *attributes)
{
    char name[48];
    uint64_t reset, priority, domain, reclaim, overrun_signal;
    memset(attributes, 0, sizeof *attributes);
    const char *policy = paragraph_get(paragraph, with_prefix(name, prefix, "policy"));
    if (policy == NULL || !policy_from_name(policy, &attributes->policy))
        return false;
    const char *cpus = paragraph_get(paragraph, with_prefix(name, prefix, "cpus"));
    if (cpus == NULL || !parse_cpus(cpus, &attributes->cpus))
        return false;
    if (!get_number(paragraph, prefix, "reset_on_fork", 1, &reset) ||
        !get_number(paragraph, prefix, "domain", 1, &domain) ||
        !get_number(paragraph, prefix, "reclaim", 1, &reclaim) ||
        !get_number(paragraph, prefix, "overrun_signal", 1, &overrun_signal) ||
        !get_number(paragraph, prefix, "priority", PRIORITY_MAX, &priority) ||
        !get_number(paragraph, prefix, "runtime", UINT64_MAX / 1000, &attributes->runtime) ||
        !get_number(paragraph, prefix, "deadline", UINT64_MAX / 1000, &attributes->deadline) ||
        !get_number(paragraph, prefix, "period", UINT64_MAX / 1000, &attributes->period))
        return false;
    attributes->reset_on_fork = reset != 0;
    attributes->reclaim = reclaim != 0;
    attributes->overrun_signal = overrun_signal != 0;
    attributes->domain = domain != 0 && CPU_COUNT(&attributes->cpus) == 1;
    attributes->priority = (int)priority;
    const char *nice = paragraph_get(paragraph, with_prefix(name, prefix, "nice"));
    if (nice != NULL) {
        uint64_t size;
        bool negative = nice[0] == '-';
        if (!parse_number(nice + negative, negative ? 20 : 19, &size))
            return false;
        attributes->nice = negative ? -(int)size : (int)size;
    }
    return true;
}
