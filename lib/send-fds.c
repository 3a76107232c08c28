#include "send-fds.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transient.h"

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(SEND_FDS_MAX * sizeof(int))];
};

bool send_with_fds(int socket, const void *bytes, size_t length, const int *fds, int count,
                   int flags)
{
    union control control;
    memset(&control, 0, sizeof control);
    struct iovec part = {.iov_base = (char *)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        size_t size = (size_t)count * sizeof *fds;
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(header), fds, size);
    }
    return sendmsg(socket, &message, flags) == (ssize_t)length;
}

ssize_t receive_with_fds(int socket, void *bytes, size_t size, int fds[], int count)
{
    union control control;
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE((size_t)count * sizeof *fds)};
    ssize_t got;
    int tries = 0;
    for (int i = 0; i < count; i++)
        fds[i] = -1;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && (errno == EINTR ||
                       (errno != EAGAIN && is_transient(errno) && ++tries < TRANSIENT_TRIES)));
    const struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return got;
    /* More than `count` descriptors may arrive, because alignment makes the space for one
     * descriptor hold two. The function closes the surplus descriptors. */
    int came = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof *fds);
    for (int i = 0; i < came; i++) {
        int fd;
        memcpy(&fd, CMSG_DATA(header) + (size_t)i * sizeof fd, sizeof fd);
        if (i < count)
            fds[i] = fd;
        else
            close(fd);
    }
    return got;
}

bool send_with_fd(int socket, const void *bytes, size_t length, int fd, int flags)
{
    return send_with_fds(socket, bytes, length, &fd, fd >= 0 ? 1 : 0, flags);
}

ssize_t receive_with_fd(int socket, void *bytes, size_t size, int *fd)
{
    return receive_with_fds(socket, bytes, size, fd, 1);
}
