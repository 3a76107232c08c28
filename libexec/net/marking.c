#include "marking.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "packet-filter.h"
#include "thread.h"
#include "tickets.h"

enum {
    PID_NAMESPACE_OF_ALL = 0xEFFFFFFC /* PROC_PID_INIT_INO of linux/proc_ns.h */,
    LATE = 300 /* ms */
};

static bool fails(char *reason, const char *what, int error)
{
    snprintf(reason, MARKING_REASON, "%s: %s", what, strerror(error));
    return false;
}

bool marking_open(char reason[static MARKING_REASON])
{
    struct stat namespace;
    if (stat("/proc/self/ns/pid", &namespace) != 0 ||
        namespace.st_ino != (ino_t)PID_NAMESPACE_OF_ALL)
        return fails(
            reason,
            "the broker runs in a pid namespace of its own, and BPF programs see other thread ids than the broker",
            ENOTSUP);
    const char *const why = tickets_open();
    return why == NULL || fails(reason, why, errno);
}

/* ---- existing sockets ---- */

struct task {
    int pidfd;
    pid_t process;
    uid_t owner;
    /* from: the child changes only sockets with this mark. 0: the child changes sockets without a
     * mark or with a mark of rtf, so that the last attachment wins. to: the new mark */
    uint32_t from, to;
    uint64_t ticket; /* the ticket of the class; 0: remove the ticket */
};

static bool is_markable(int fd, const struct task *task)
{
    struct stat found;
    int domain;
    uint32_t mark;
    socklen_t domain_size = sizeof domain, mark_size = sizeof mark;
    return fstat(fd, &found) == 0 && S_ISSOCK(found.st_mode) &&
           (found.st_uid == task->owner || task->owner == 0) &&
           getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) == 0 &&
           (domain == AF_INET || domain == AF_INET6) &&
           getsockopt(fd, SOL_SOCKET, SO_MARK, &mark, &mark_size) == 0 &&
           (task->from == 0 ? mark == 0 || mark >> 16 == TICKETS_OURS : mark == task->from);
}

static bool is_socket(int directory, const char *name)
{
    char target[16];
    return readlinkat(directory, name, target, sizeof target) > 8 &&
           memcmp(target, "socket:[", 8) == 0;
}

enum { TOO_MANY = 2, NO_LOOK = 3, NO_MARK = 4, NO_CHILD = 5 }; /* exit statuses of the child */

/* Gives the socket the ticket (tickets.h) and the mark. Their order does not matter, because a
 * socket that has only one of the two counts as unmarked. */
static bool give_mark(int fd, const struct task *task)
{
    if (task->ticket == 0)
        tickets_take(fd);
    else if (!tickets_give(fd, task->ticket))
        return false;
    return setsockopt(fd, SOL_SOCKET, SO_MARK, &task->to, sizeof task->to) == 0;
}

static void mark_one(const struct task *task, int number, int *refused)
{
    const int fd = (int)syscall(SYS_pidfd_getfd, task->pidfd, number, 0);
    if (fd < 0)
        return; /* the process has closed the descriptor meanwhile */
    if (is_markable(fd, task) && !give_mark(fd, task))
        (*refused)++;
    close(fd);
}

struct entry { /* getdents64(2) */
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* Marks all sockets of the process, in the child. Allocates no memory: the child shares the
 * parent's memory and may be killed at any point. */
static int mark_all(const struct task *task)
{
    char path[64], buffer[8192] __attribute__((aligned(8)));
    int seen = 0, refused = 0;
    ssize_t got;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)task->process);
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return NO_LOOK;
    while ((got = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0)
        for (ssize_t at = 0; at < got; at += ((const struct entry *)(buffer + at))->length) {
            const char *name = ((const struct entry *)(buffer + at))->name;
            if (name[0] == '.')
                continue;
            if (++seen > DESCRIPTORS_MOST)
                return TOO_MANY;
            if (is_socket(directory, name))
                mark_one(task, (int)strtol(name, NULL, 10), &refused);
        }
    return got == 0 && refused == 0 ? 0 : got != 0 ? NO_LOOK : NO_MARK;
}

static int run_child(void *task)
{
    _exit(mark_all(task));
}

/* The children that exceeded their time. Until such a child ends, no further socket is marked for
 * its owner. */
struct late {
    pid_t pid;
    uid_t owner;
    void *stack;
};
enum { LATE_MOST = 256, STACK = 65536 };
static struct late late[LATE_MOST];
static int late_count;

static bool is_late(uid_t owner)
{
    bool found = false;
    for (int i = 0; i < late_count; i++)
        if (waitpid(late[i].pid, NULL, WNOHANG) != 0) {
            munmap(late[i].stack, STACK);
            late[i--] = late[--late_count];
        } else
            found |= late[i].owner == owner;
    return found || late_count == LATE_MOST;
}

static bool wait_for(pid_t child, int *status)
{
    const int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd one = {.fd = pidfd, .events = POLLIN};
    const bool ended = pidfd >= 0 && poll(&one, 1, LATE) == 1 && waitpid(child, status, 0) == child;
    if (pidfd >= 0)
        close(pidfd);
    return ended;
}

/* Marks the sockets in a child. clone(CLONE_VM) copies no memory, but the child has its own
 * descriptors, and if it blocks, only the child blocks. The child is not real-time (reset-on-fork):
 * the user decides how much work the child has, and this work must not take time from other users'
 * reservations. */
static int mark_in_child(const struct task *task)
{
    void *stack =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return NO_CHILD;
    /* a copy for the child at the bottom of its stack; the child's calls do not reach the bottom */
    struct task *own = stack;
    *own = *task;
    int status = 0;
    const pid_t child = clone(run_child, (char *)stack + STACK, CLONE_VM | SIGCHLD, own);
    if (child > 0 && !wait_for(child, &status)) {
        (void)kill(child, SIGKILL);
        /* `late` has room for the child, because the caller has called is_late before */
        late[late_count++] = (struct late){child, task->owner, stack};
        return NO_CHILD;
    }
    munmap(stack, STACK);
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : NO_CHILD;
}

static enum marking refuse(char *reason, pid_t tid, int ended)
{
    static const char *const sentences[] = {
        [TOO_MANY] =
            "its process has more than 4096 descriptors: attach the thread before it opens them",
        [NO_LOOK] = "the descriptors of its process cannot be read",
        [NO_MARK] = "one of the sockets of its process cannot be marked",
        [NO_CHILD] =
            "marking its sockets took too long, because they are in use or the machine is busy"};
    snprintf(reason, MARKING_REASON, "thread %d: %s", (int)tid, sentences[ended]);
    return MARKING_REFUSED;
}

/* Opens a pidfd of the thread's process, if the id still belongs to the thread. -1: errno says why.
 * ESRCH: the thread has ended. Another error (EMFILE, ENOMEM): it is not known whether the thread
 * has ended, so the caller must not report its end. */
static int hold(pid_t tid, uint64_t started_by, struct identity *identity)
{
    errno = ESRCH;
    if (!thread_identify(tid, identity) || identity->ended || identity->kernel)
        return -1;
    const int pidfd = (int)syscall(SYS_pidfd_open, identity->process, 0);
    if (pidfd < 0)
        return -1;
    errno = ESRCH;
    if (thread_is(tid, started_by) && thread_identify(tid, identity))
        return pidfd;
    const int error = errno;
    close(pidfd);
    errno = error;
    return -1;
}

static enum marking not_held(char *reason, pid_t tid)
{
    if (errno == ESRCH || errno == ENOENT)
        return MARKING_GONE;
    snprintf(reason, MARKING_REASON, "thread %d: %s", (int)tid, strerror(errno));
    return MARKING_REFUSED;
}

/* Enters the thread into the map of the BPF program, and then marks the existing sockets. In this
 * order the BPF program marks a socket that the thread opens meanwhile. */
enum marking marking_bind(pid_t tid, uint64_t started_by, uid_t owner, uint32_t mark,
                          char reason[static MARKING_REASON])
{
    struct identity identity;
    uint64_t ticket;
    const int pidfd = hold(tid, started_by, &identity);
    if (pidfd < 0)
        return not_held(reason, tid);
    int ended = NO_LOOK;
    if (!thread_is_of(&identity, owner))
        snprintf(reason, MARKING_REASON, "thread %d is not of uid %u", (int)tid, owner);
    else if (is_late(owner))
        snprintf(
            reason, MARKING_REASON,
            "thread %d: an earlier marking still waits for a socket of this user; until it ends no socket is marked",
            (int)tid);
    else if ((ticket = tickets_of((uint16_t)mark)) == 0 ||
             !tickets_remember(tid, identity.real_uid, mark, ticket))
        snprintf(reason, MARKING_REASON, "thread %d: %s", (int)tid, strerror(errno));
    else if ((ended = mark_in_child(
                  &(struct task){pidfd, identity.process, owner, 0, mark, ticket})) != 0) {
        tickets_forget(tid);
        (void)refuse(reason, tid, ended);
    }
    close(pidfd);
    return ended == 0 ? MARKED : MARKING_REFUSED;
}

enum marking marking_unbind(pid_t tid, uint64_t started_by, uint32_t mark,
                            char reason[static MARKING_REASON])
{
    struct identity identity;
    tickets_forget(tid);
    const int pidfd = hold(tid, started_by, &identity);
    if (pidfd < 0)
        return not_held(reason, tid);
    const int ended =
        is_late(identity.real_uid)
            ? NO_CHILD
            : mark_in_child(&(struct task){pidfd, identity.process, identity.real_uid, mark, 0, 0});
    close(pidfd);
    return ended == 0 ? MARKED : refuse(reason, tid, ended);
}
