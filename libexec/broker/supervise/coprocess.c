#include "coprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transient.h"
#include "send-fds.h"
#include "launcher.h"

enum {
    UNSENT_MAX = 64 << 20
}; /* bytes; a plugin that stops reading misses the time for its answer long before this limit */

static void close_both(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

/* Makes an end non-blocking, so that a program that does not read or write cannot make the broker
 * wait. Only the broker's ends become non-blocking; the child decides about its own ends. */
static bool does_not_block(int fd)
{
    int tries = 0;
    while (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        if (!is_transient(errno) || ++tries >= TRANSIENT_TRIES)
            return false;
    return true;
}

/* theirs: the child's descriptors 0 and 1. ours: the broker's descriptors to read from and to write
 * to; -1: no descriptor. A helper on a socket writes nothing to standard output, so its descriptor
 * 1 is the broker's standard error. */
static bool coprocess_open(enum coprocess_talk talk, int input, int theirs[2], int ours[2])
{
    int to_child[2] = {input, -1}, from_child[2];
    if (talk == COPROCESS_SOCKET &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, to_child) != 0)
        return false;
    if (talk == COPROCESS_PIPES && pipe2(to_child, O_CLOEXEC) != 0)
        return false;
    if (talk == COPROCESS_SOCKET) {
        from_child[0] = to_child[1];
        from_child[1] = STDERR_FILENO;
    } else if (pipe2(from_child, O_CLOEXEC) != 0) {
        if (talk == COPROCESS_PIPES)
            close_both(to_child);
        return false;
    }
    theirs[0] = to_child[0];
    theirs[1] = from_child[1];
    ours[0] = from_child[0];
    ours[1] = to_child[1];
    return true;
}

static void coprocess_close(const struct coprocess *coprocess)
{
    close(coprocess->in);
    if (coprocess->out >= 0 && coprocess->out != coprocess->in)
        close(coprocess->out);
}

bool coprocess_start(struct coprocess *coprocess, int child, enum coprocess_talk talk, int input,
                     int keep_fd)
{
    int theirs[2], ours[2];
    if (!coprocess_open(talk, input, theirs, ours))
        return false;
    const bool started = launcher_start(child, theirs[0], theirs[1], keep_fd);
    const int error = errno;
    if (talk != COPROCESS_FED)
        close(theirs[0]);
    if (talk != COPROCESS_SOCKET)
        close(theirs[1]);
    coprocess->child = child;
    coprocess->running = started;
    coprocess->writing = false;
    coprocess->in = ours[0];
    coprocess->out = ours[1];
    if (!started) {
        coprocess_close(coprocess);
        coprocess_kill(coprocess);
        errno = error;
        return false;
    }
    if (does_not_block(coprocess->in) && (coprocess->out < 0 || does_not_block(coprocess->out)) &&
        loop_add(coprocess->in, EPOLLIN, &coprocess->source))
        return true;
    coprocess_kill(coprocess);
    return false;
}

void coprocess_kill(struct coprocess *coprocess)
{
    if (coprocess->running) {
        launcher_end(coprocess->child);
        coprocess_close(coprocess);
    }
    coprocess->running = coprocess->writing = false;
    coprocess->in = coprocess->out = -1;
    coprocess->input.taken = coprocess->input.length = 0;
    coprocess->output.length = 0;
}

/* The pipe to write to has a descriptor of its own, which this function adds to the loop or
 * removes. A socket has one descriptor for both directions, and the function changes the events of
 * this descriptor. Both kinds use the same source. */
void coprocess_wait_for_room(struct coprocess *coprocess, bool wanted)
{
    if (wanted == coprocess->writing || !coprocess->running)
        return;
    coprocess->writing = wanted;
    if (coprocess->in == coprocess->out)
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
        if (put < 0 && errno != EAGAIN && is_transient(errno) && ++tries < TRANSIENT_TRIES)
            continue;
        if (put < 0 && is_transient(errno))
            break;
        if (put < 0)
            return false;
        sent += (size_t)put;
    }
    if (sent > 0)
        paragraph_drop(output, sent);
    coprocess_wait_for_room(coprocess, output->length > 0);
    return output->length < UNSENT_MAX;
}

bool coprocess_send_fds(struct coprocess *coprocess, const void *bytes, size_t length,
                        const int *fds, int count)
{
    return send_with_fds(coprocess->out, bytes, length, fds, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool coprocess_receive(struct coprocess *coprocess, bool *received, int *fd)
{
    char bytes[PARAGRAPH_BYTES];
    ssize_t got = !coprocess->running ? 0 : receive_with_fd(coprocess->in, bytes, sizeof bytes, fd);
    *received = got > 0 && paragraph_feed(&coprocess->input, bytes, (size_t)got);
    return got > 0 || (got < 0 && is_transient(errno));
}

bool coprocess_read(struct coprocess *coprocess)
{
    if (!coprocess->running)
        return false;
    ssize_t got = paragraph_fill(&coprocess->input, coprocess->in);
    return got > 0 || (got < 0 && (errno == ENOBUFS || is_transient(errno)));
}
