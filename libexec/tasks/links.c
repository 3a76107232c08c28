#include "links.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "capabilities.h"
#include "confine.h"
#include "lock-memory.h"
#include "send-fds.h"
#include "program-file.h"

enum { PATH_BYTES = 64 };

static int to_child = -1;

struct question {
    pid_t process;
    uid_t uid;
    gid_t gid;
};

/* ---- the child ---- */

/* Reads the link with the uid and gid of the user for file access, which the kernel checks. So the
 * child needs no capability to trace, and sees no link of a process that has more rights than the
 * user. */
static size_t read_link(const struct question *about, char *exe, size_t size)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)about->process);
    const int own_gid = setfsgid(about->gid), own_uid = setfsuid(about->uid);
    const ssize_t length = readlink(path, exe, size);
    (void)setfsuid((uid_t)own_uid);
    (void)setfsgid((gid_t)own_gid);
    return length > 0 && (size_t)length < size ? (size_t)length : 0;
}

/* Answers all questions. An answer has a byte more than the link, so that no answer is an empty
 * datagram. */
static void answer_all(void)
{
    struct question about;
    char exe[PROGRAM_PATH_BYTES + 1] = {0};
    int fd = -1;
    while (receive_with_fd(STDIN_FILENO, &about, sizeof about, &fd) == (ssize_t)sizeof about &&
           fd < 0) {
        const size_t length = read_link(&about, exe, sizeof exe);
        if (!send_with_fd(STDIN_FILENO, exe, length + 1, -1, MSG_NOSIGNAL))
            return;
    }
}

static bool confine(uid_t uid, gid_t gid)
{
    static const int powers[] = {CAP_SETUID, CAP_SETGID, -1};
    static const char *const calls[] = {
        "recvmsg sendmsg setfsuid setfsgid readlink readlinkat close",
        "rt_sigreturn restart_syscall exit exit_group brk mmap munmap futex", NULL};
    return confine_for_good() && capabilities_keep_as(uid, gid, powers) && confine_calls(calls);
}

/* Gives the child the policy and priority of rtf-tasks, which the kernel has reset at the fork
 * (reset-on-fork). */
static void keep_rank(int policy, const struct sched_param *rank)
{
    if ((policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO)
        (void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, rank);
}

/* Closes the child's copy of the socket to the broker, so that the broker sees the end of
 * rtf-tasks. */
static _Noreturn void be_child(int socket, uid_t uid, gid_t gid)
{
    (void)prctl(PR_SET_NAME, "rtf-links");
    if (dup2(socket, STDIN_FILENO) < 0 || close_range(3, ~0U, 0) != 0)
        _exit(EX_OSERR);
    (void)memory_lock_without_power(0);
    if (!confine(uid, gid))
        _exit(EX_OSERR);
    answer_all();
    _exit(EX_OK);
}

/* ---- rtf-tasks ---- */

bool links_start(uid_t uid, gid_t gid)
{
    struct sched_param rank = {0};
    int both[2];
    const int policy = sched_getscheduler(0);
    if (sched_getparam(0, &rank) != 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, both) != 0)
        return false;
    const pid_t child = fork();
    if (child == 0) {
        keep_rank(policy, &rank);
        be_child(both[1], uid, gid);
    }
    close(both[1]);
    to_child = both[0];
    return child > 0;
}

/* Asks the child. If the child has ended, this process ends, too, and the broker starts rtf-tasks
 * again. */
size_t links_program_of(pid_t process, uid_t uid, gid_t gid, char *exe, size_t size)
{
    const struct question about = {.process = process, .uid = uid, .gid = gid};
    char answer[PROGRAM_PATH_BYTES + 1];
    int fd = -1;
    if (!send_with_fd(to_child, &about, sizeof about, -1, MSG_NOSIGNAL))
        _exit(EX_OSERR);
    const ssize_t got = receive_with_fd(to_child, answer, sizeof answer, &fd);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        _exit(EX_OSERR);
    const size_t length = (size_t)got - 1;
    if (length > size)
        return 0;
    memcpy(exe, answer, length);
    return length;
}
