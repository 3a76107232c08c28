#include "coprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pass.h"

enum { UNSENT_MAX = 64 << 20 }; /* bytes; a plugin that stopped reading is hung long before */

static void become(struct identity_to_run_as as)
{
    if (as.uid == (uid_t)-1)
        return;
    if (setgroups(0, NULL) != 0 || setresgid(as.gid, as.gid, as.gid) != 0 || setresuid(as.uid, as.uid, as.uid) != 0 ||
        setuid(0) == 0) /* proves that the way back is closed */
        _exit(126);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        _exit(126);
}

bool coprocess_silent;

/* Below the broker, which has to be able to end it, and above all that is granted. */
static void step_down(void)
{
    struct sched_param param;
    if (sched_getscheduler(0) != SCHED_FIFO || sched_getparam(0, &param) != 0)
        return;
    param.sched_priority--;
    (void)sched_setparam(0, &param);
}

static void run_child(char *const argv[], struct identity_to_run_as as, int in, int out, int keep_fd)
{
    static char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGIO, SIG_DFL);
    if (keep_fd < 0)
        step_down();
    int null = coprocess_silent ? open("/dev/null", O_WRONLY) : -1;
    if (null >= 0 && dup2(null, STDERR_FILENO) < 0)
        _exit(126);
    setsid(); /* so that all it starts can be killed with it */
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 || chdir("/") != 0)
        _exit(126);
    if (keep_fd >= 0 && (keep_fd = dup2(keep_fd, 3)) < 0)
        _exit(126);
    close_range(keep_fd >= 0 ? 4 : 3, ~0U, 0);
    become(as);
    execve(argv[0], argv, environment);
    _exit(errno == ENOENT ? 127 : 126);
}

static void close_both(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

bool coprocess_start(struct coprocess *coprocess, char *const argv[], struct identity_to_run_as as, bool socket, int keep_fd)
{
    int to_child[2], from_child[2];
    if (socket) {
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, to_child) != 0)
            return false;
        from_child[0] = to_child[1];
        from_child[1] = STDERR_FILENO; /* the helper has nothing to say on standard output */
    } else {
        if (pipe2(to_child, O_CLOEXEC) != 0)
            return false;
        if (pipe2(from_child, O_CLOEXEC) != 0) {
            close_both(to_child);
            return false;
        }
    }
    pid_t pid = fork();
    if (pid == 0)
        run_child(argv, as, to_child[0], from_child[1], keep_fd);
    if (pid < 0) {
        close_both(to_child);
        if (!socket)
            close_both(from_child);
        return false;
    }
    close(to_child[0]);
    if (!socket)
        close(from_child[1]);
    coprocess->pid = pid;
    coprocess->socket = socket;
    coprocess->writing = false;
    coprocess->out = to_child[1];
    coprocess->in = from_child[0];
    (void)fcntl(coprocess->out, F_SETFL, O_NONBLOCK);
    (void)fcntl(coprocess->in, F_SETFL, O_NONBLOCK);
    return loop_add(coprocess->in, EPOLLIN, &coprocess->source);
}

void coprocess_kill(struct coprocess *coprocess)
{
    if (coprocess->pid != 0 && kill(-coprocess->pid, SIGKILL) != 0)
        (void)kill(coprocess->pid, SIGKILL); /* it had not come to setsid yet */
    if (coprocess->in >= 0 && coprocess->pid != 0) {
        close(coprocess->in);
        if (!coprocess->socket)
            close(coprocess->out);
    }
    coprocess->pid = 0;
    coprocess->in = coprocess->out = -1;
    coprocess->input.taken = coprocess->input.length = 0;
    coprocess->output.length = 0;
}

/* A pipe has two descriptors, a socket one: the same source waits on either. */
static void wait_for_room(struct coprocess *coprocess, bool wanted)
{
    if (wanted == coprocess->writing)
        return;
    coprocess->writing = wanted;
    if (coprocess->socket)
        loop_change(coprocess->in, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN, &coprocess->source);
    else if (wanted)
        (void)loop_add(coprocess->out, EPOLLOUT, &coprocess->source);
    else
        loop_remove(coprocess->out);
}

bool coprocess_flush(struct coprocess *coprocess)
{
    struct paragraph_output *output = &coprocess->output;
    size_t sent = 0;
    if (coprocess->pid == 0) {
        output->length = 0;
        return false;
    }
    while (sent < output->length) {
        ssize_t put = write(coprocess->out, output->data + sent, output->length - sent);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EAGAIN)
            break;
        if (put < 0)
            return false;
        sent += (size_t)put;
    }
    if (sent > 0)
        paragraph_drop(output, sent);
    wait_for_room(coprocess, output->length > 0);
    return output->length < UNSENT_MAX;
}

bool coprocess_send_fd(struct coprocess *coprocess, const void *bytes, size_t length, int fd)
{
    return send_with_fd(coprocess->out, bytes, length, fd, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool coprocess_receive(struct coprocess *coprocess, bool *received, int *fd)
{
    char bytes[PARAGRAPH_BYTES];
    ssize_t got = coprocess->pid == 0 ? 0 : receive_with_fd(coprocess->in, bytes, sizeof bytes, fd);
    *received = got > 0 && paragraph_feed(&coprocess->input, bytes, (size_t)got);
    return got > 0 || (got < 0 && errno == EAGAIN);
}

bool coprocess_read(struct coprocess *coprocess)
{
    if (coprocess->pid == 0)
        return false;
    for (;;) {
        ssize_t got = paragraph_fill(&coprocess->input, coprocess->in);
        if (got < 0 && errno == EINTR)
            continue;
        return got > 0 || (got < 0 && (errno == EAGAIN || errno == ENOBUFS));
    }
}
