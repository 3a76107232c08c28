/* Where sd_notify(3) messages go. */
#ifndef RTF_NOTIFY_H
#define RTF_NOTIFY_H

/* A socket that is connected with this NOTIFY_SOCKET=; -1 where it is none, or nobody listens. NULL is none. */
int notify_connect(const char *path);

#endif
