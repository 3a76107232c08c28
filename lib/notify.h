/* The socket for sd_notify(3) messages. */
#ifndef RTF_NOTIFY_H
#define RTF_NOTIFY_H

/* Returns a socket connected to `path`, the value of NOTIFY_SOCKET=. -1: path is NULL or invalid,
 * or no process listens. */
int notify_connect(const char *path);

#endif
