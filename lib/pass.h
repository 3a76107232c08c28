/* Datagrams that carry descriptors, over a SOCK_SEQPACKET socket. */
#ifndef RTF_PASS_H
#define RTF_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PASS_MAX = 4 }; /* descriptors in one datagram */

/* `flags` as sendmsg(2). False with errno. */
bool send_with_fds(int socket, const void *bytes, size_t length, const int *fds, int count, int flags);

/* What comes without is -1 in `fds`; what comes is the caller's, closed on execve. An error of the moment (moment.h) is tried again,
 * but for EAGAIN. Returns the datagram's length, 0 at the end, -1 with errno. */
ssize_t receive_with_fds(int socket, void *bytes, size_t size, int fds[], int count);

/* The same with one; fd -1: none. */
bool send_with_fd(int socket, const void *bytes, size_t length, int fd, int flags);
ssize_t receive_with_fd(int socket, void *bytes, size_t size, int *fd);

#endif
