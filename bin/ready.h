/* Receives the sd_notify(3) messages of a command. With such a message the command says that it is
 * ready, as a service does. This process passes the messages on to the socket of its own
 * NOTIFY_SOCKET=. */
#ifndef RTF_READY_H
#define RTF_READY_H

#include <stdbool.h>

enum { READY_PATH = 64 };

struct ready {
    /* the socket for the messages, readable when a message has come; -1: not open */
    int fd;
    int outer;             /* the socket to which this process passes messages on; -1: none */
    char path[READY_PATH]; /* the value of NOTIFY_SOCKET= for the command */
};

/* Opens the socket. False: errno says why. */
bool ready_open(struct ready *ready);

/* Reads all messages that have arrived, and passes them on. True: a message has the line READY=1.
 * Does not block. */
bool ready_take(const struct ready *ready);

void ready_close(struct ready *ready);

#endif
