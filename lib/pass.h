/* Datagrams that carry a descriptor, over a SOCK_SEQPACKET socket. */
#ifndef RTF_PASS_H
#define RTF_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* fd -1: none. `flags` as sendmsg(2). False with errno. */
bool send_with_fd(int socket, const void *bytes, size_t length, int fd, int flags);

/* *fd becomes -1 when there is none; else it is the caller's, closed on execve. Returns the datagram's length, 0 at the
 * end, -1 with errno. */
ssize_t receive_with_fd(int socket, void *bytes, size_t size, int *fd);

#endif
