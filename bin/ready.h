/* Receives the sd_notify(3) messages of a command, which says with them that it is ready, as a
 * service does. This process passes the messages on to the socket of its own NOTIFY_SOCKET=. */
#ifndef RTF_READY_H
#define RTF_READY_H

#include <stdbool.h>

enum { READY_PATH = 64 };

struct ready {
    int fd;                /* readable when a message has come; -1: not open */
    int outer;             /* the socket that messages are passed on to; -1: none */
    char path[READY_PATH]; /* the command's NOTIFY_SOCKET= */
};

/* Opens the socket. False with errno. */
bool ready_open(struct ready *ready);

/* Reads all messages that have come, and passes them on. True: a message has the line READY=1. Does
 * not block. */
bool ready_take(const struct ready *ready);

void ready_close(struct ready *ready);

#endif
