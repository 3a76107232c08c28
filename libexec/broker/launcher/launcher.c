#include "launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transient.h"
#include "child.h"
#include "children.h"
#include "send-fds.h"
#include "spool.h"
#include "launcher-process.h"

static struct {
    pid_t process;
    int socket; /* leads to the launcher; -1: the launcher does not run */
    int cpu;    /* the CPU of the last launcher_place; -1: none yet */
} launcher = {.socket = -1, .cpu = -1};

int launcher_add(enum child_kind kind, char *const argv[], struct identity_to_run_as as)
{
    return children_add(kind, argv, as);
}

/* Closes the launcher's copies of the standard descriptors, because the caller of the broker waits
 * until all copies are closed. */
static void let_go_of_caller(bool silent)
{
    int null = silent ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    for (int fd = 0; null >= 0 && fd < 3; fd++)
        (void)dup2(null, fd);
    if (null >= 0)
        close(null);
}

bool launcher_fork(bool silent, struct source *source)
{
    int ends[2];
    const pid_t broker = getpid();
    child_be_silent(silent);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    launcher.process = fork();
    if (launcher.process == 0) {
        /* The launcher opens the directory anew. If it shared the broker's open file description,
         * it would keep the broker's lock (flock(2)) on the directory after the broker's end. */
        const int own =
            spool.state < 0 ? -1 : openat(spool.state, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        const int state = own < 0 ? -1 : fcntl(own, F_DUPFD_CLOEXEC, 5),
                  socket = fcntl(ends[1], F_DUPFD_CLOEXEC, 5);
        if (dup2(socket, 3) < 0 || (state >= 0 && dup3(state, 4, O_CLOEXEC) < 0))
            _exit(126);
        close_range(state >= 0 ? 5 : 4, ~0U, 0);
        let_go_of_caller(silent);
        launcher_serve(3, state >= 0 ? 4 : -1, broker);
    }
    close(ends[1]);
    if (launcher.process < 0) {
        close(ends[0]);
        return false;
    }
    launcher.socket = ends[0];
    return loop_add(launcher.socket, EPOLLIN, source);
}

static bool launcher_tell(const struct launcher_order *order, const int *fds, int count)
{
    bool sent;
    int tries = 0;
    do
        sent = send_with_fds(launcher.socket, order, sizeof *order, fds, count, MSG_NOSIGNAL);
    while (!sent && is_transient(errno) && ++tries < TRANSIENT_TRIES);
    return sent;
}

bool launcher_start(int child, int in, int out, int keep)
{
    const struct launcher_order order = {START, child, 0};
    const int fds[DESCRIPTORS] = {in, out, keep};
    return launcher_tell(&order, fds, keep >= 0 ? 3 : 2);
}

int launcher_hear(struct child_used *used)
{
    struct iovec whole = {.iov_base = used, .iov_len = sizeof *used};
    struct msghdr message = {.msg_iov = &whole, .msg_iovlen = 1};
    ssize_t got = recvmsg(launcher.socket, &message, MSG_DONTWAIT);
    if (got == (ssize_t)sizeof *used)
        return 1;
    return got < 0 && is_transient(errno) ? 0 : -1;
}

void launcher_end(int child)
{
    const struct launcher_order order = {END, child, 0};
    (void)launcher_tell(&order, NULL, 0);
}

bool launcher_start_reader(int slot, uid_t uid, int socket, int directory, int inotify)
{
    const struct launcher_order order = {START_READER, slot, uid};
    const int fds[DESCRIPTORS] = {socket, directory, inotify};
    return launcher_tell(&order, fds, inotify >= 0 ? 3 : 2);
}

void launcher_end_reader(int slot)
{
    const struct launcher_order order = {END_READER, slot, 0};
    (void)launcher_tell(&order, NULL, 0);
}

void launcher_place(int cpu)
{
    const struct launcher_order order = {PLACE, cpu, 0};
    if (cpu != launcher.cpu && launcher_tell(&order, NULL, 0))
        launcher.cpu = cpu;
}

void launcher_stop(void)
{
    if (launcher.socket < 0)
        return;
    close(launcher.socket);
    launcher.socket = -1;
    while (waitpid(launcher.process, NULL, 0) < 0 && errno == EINTR)
        ;
}
