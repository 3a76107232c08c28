#include "coprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "moment.h"
#include "pass.h"
#include "launcher.h"

enum { UNSENT_MAX = 64 << 20 }; /* bytes; a plugin that stopped reading is hung long before */

static void close_both(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

/* Who does not read, or does not write, must not make the broker wait. Only our ends: the child's are for it to set. */
static bool does_not_block(int fd)
{
    int tries = 0;
    while (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        if (!is_of_the_moment(errno) || ++tries >= MOMENT_TRIES)
            return false;
    return true;
}

bool coprocess_start(struct coprocess *coprocess, int child, bool socket, int keep_fd)
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
    bool started = launcher_start(child, to_child[0], from_child[1], keep_fd);
    close(to_child[0]);
    if (!socket)
        close(from_child[1]);
    if (!started) {
        close(to_child[1]);
        if (!socket)
            close(from_child[0]);
        return false;
    }
    coprocess->child = child;
    coprocess->running = true;
    coprocess->socket = socket;
    coprocess->writing = false;
    coprocess->out = to_child[1];
    coprocess->in = from_child[0];
    if (does_not_block(coprocess->out) && does_not_block(coprocess->in) && loop_add(coprocess->in, EPOLLIN, &coprocess->source))
        return true;
    coprocess_kill(coprocess);
    return false;
}

void coprocess_kill(struct coprocess *coprocess)
{
    if (coprocess->running) {
        launcher_end(coprocess->child);
        close(coprocess->in);
        if (!coprocess->socket)
            close(coprocess->out);
    }
    coprocess->running = false;
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
    int tries = 0;
    if (!coprocess->running) {
        output->length = 0;
        return false;
    }
    while (sent < output->length) {
        ssize_t put = write(coprocess->out, output->data + sent, output->length - sent);
        if (put < 0 && errno != EAGAIN && is_of_the_moment(errno) && ++tries < MOMENT_TRIES)
            continue;
        if (put < 0 && is_of_the_moment(errno))
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

bool coprocess_send_fds(struct coprocess *coprocess, const void *bytes, size_t length, const int *fds, int count)
{
    return send_with_fds(coprocess->out, bytes, length, fds, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool coprocess_receive(struct coprocess *coprocess, bool *received, int *fd)
{
    char bytes[PARAGRAPH_BYTES];
    ssize_t got = !coprocess->running ? 0 : receive_with_fd(coprocess->in, bytes, sizeof bytes, fd);
    *received = got > 0 && paragraph_feed(&coprocess->input, bytes, (size_t)got);
    return got > 0 || (got < 0 && is_of_the_moment(errno));
}

bool coprocess_read(struct coprocess *coprocess)
{
    if (!coprocess->running)
        return false;
    ssize_t got = paragraph_fill(&coprocess->input, coprocess->in);
    return got > 0 || (got < 0 && (errno == ENOBUFS || is_of_the_moment(errno)));
}
