/* The command says when it is ready, as a service does, by sd_notify(3): to us, and through us to who has started us. */
#ifndef RTF_READY_H
#define RTF_READY_H

#include <stdbool.h>

enum { READY_PATH = 64 };

struct ready {
    int fd;                /* readable when something has been said */
    int outer;             /* where it is passed on to; -1 */
    char path[READY_PATH]; /* for the command's NOTIFY_SOCKET= */
};

/* False with errno. */
bool ready_open(struct ready *ready);

/* Takes what has been said and passes it on. True: READY=1 is among it. */
bool ready_take(const struct ready *ready);

void ready_close(struct ready *ready);

#endif
