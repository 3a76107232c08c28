/* Sends and receives datagrams that carry descriptors, over a SOCK_SEQPACKET socket. */
#ifndef RTF_SEND_FDS_H
#define RTF_SEND_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { SEND_FDS_MAX = 4 }; /* the largest number of descriptors in one datagram */

/* Sends a datagram with `count` descriptors. flags: as for sendmsg(2). False: errno says why. */
bool send_with_fds(int socket, const void *bytes, size_t length, const int *fds, int count,
                   int flags);

/* Receives a datagram. Descriptors in `fds` that did not arrive are -1. The caller owns the
 * received descriptors, which are close-on-exec. A transient error (transient.h) except EAGAIN is
 * tried again. Returns the datagram's length, 0 at the end of the stream, -1: errno says why. */
ssize_t receive_with_fds(int socket, void *bytes, size_t size, int fds[], int count);

/* Like send_with_fds and receive_with_fds, but with one descriptor at most; fd = -1: no
 * descriptor. */
bool send_with_fd(int socket, const void *bytes, size_t length, int fd, int flags);
ssize_t receive_with_fd(int socket, void *bytes, size_t size, int *fd);

#endif
