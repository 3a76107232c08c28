#include "ready.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "notify.h"

enum {
    MESSAGE = 16384 /* bytes */,
    FDS = 253 /* the most descriptors that one message can carry (unix(7)) */
};

union ancillary {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(FDS * sizeof(int))];
};

/* Binds the socket to an abstract name (unix(7)), because such a name is no file that is left
 * behind when this process is killed. */
static bool bind_name(struct ready *ready)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    unsigned long long number;
    const int on = 1;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return false;
    const int length =
        snprintf(ready->path, sizeof ready->path, "@rtf-run/%d/%016llx", getpid(), number);
    memcpy(address.sun_path + 1, ready->path + 1, (size_t)length - 1);
    return setsockopt(ready->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
           bind(ready->fd, (const struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length)) == 0;
}

bool ready_open(struct ready *ready)
{
    *ready = (struct ready){.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                            .outer = -1};
    if (ready->fd < 0 || !bind_name(ready))
        return false;
    ready->outer = notify_connect(getenv("NOTIFY_SOCKET"));
    return true;
}

static struct cmsghdr *part_of(struct msghdr *message, int kind)
{
    struct cmsghdr *part = CMSG_FIRSTHDR(message);
    while (part != NULL && (part->cmsg_level != SOL_SOCKET || part->cmsg_type != kind))
        part = CMSG_NXTHDR(message, part);
    return part;
}

/* True if the sender of the message is this user or root. The check is needed because any process
 * in the network namespace can send to an abstract name. */
static bool is_ours(struct msghdr *message)
{
    struct ucred sender;
    const struct cmsghdr *part = part_of(message, SCM_CREDENTIALS);
    if (part == NULL)
        return false;
    memcpy(&sender, CMSG_DATA(part), sizeof sender);
    return sender.uid == geteuid() || sender.uid == 0;
}

static void pass_on(int outer, char *text, size_t length, const struct cmsghdr *fds)
{
    struct iovec whole = {.iov_base = text, .iov_len = length};
    struct msghdr message = {.msg_iov = &whole,
                             .msg_iovlen = 1,
                             .msg_control = (void *)fds,
                             .msg_controllen = fds == NULL ? 0 : fds->cmsg_len};
    (void)sendmsg(outer, &message, MSG_NOSIGNAL);
}

static void close_all(const struct cmsghdr *fds)
{
    int fd;
    for (size_t at = 0; fds != NULL && at + sizeof fd <= fds->cmsg_len - CMSG_LEN(0);
         at += sizeof fd) {
        memcpy(&fd, CMSG_DATA(fds) + at, sizeof fd);
        close(fd);
    }
}

/* True if the text has the line READY=1. */
static bool says_ready(const char *text)
{
    static const char ready[] = "READY=1";
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += line != text;
        if (strncmp(line, ready, sizeof ready - 1) == 0 &&
            (line[sizeof ready - 1] == '\n' || line[sizeof ready - 1] == '\0'))
            return true;
    }
    return false;
}

bool ready_take(const struct ready *ready)
{
    char text[MESSAGE + 1];
    union ancillary ancillary;
    bool is_ready = false;
    for (;;) {
        struct iovec whole = {.iov_base = text, .iov_len = MESSAGE};
        struct msghdr message = {.msg_iov = &whole,
                                 .msg_iovlen = 1,
                                 .msg_control = &ancillary,
                                 .msg_controllen = sizeof ancillary};
        ssize_t length = recvmsg(ready->fd, &message, MSG_CMSG_CLOEXEC);
        if (length < 0)
            return is_ready;
        const struct cmsghdr *fds = part_of(&message, SCM_RIGHTS);
        text[length] = '\0';
        if (is_ours(&message)) {
            is_ready |= says_ready(text);
            if (ready->outer >= 0)
                pass_on(ready->outer, text, (size_t)length, fds);
        }
        close_all(fds);
    }
}

void ready_close(struct ready *ready)
{
    if (ready->fd >= 0)
        close(ready->fd);
    if (ready->outer >= 0)
        close(ready->outer);
    ready->fd = ready->outer = -1;
}
