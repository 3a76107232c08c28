/* The starter as a process: it does what the broker tells it, and nothing else. */
#ifndef RTF_STARTER_PROCESS_H
#define RTF_STARTER_PROCESS_H

#include <sys/types.h>

struct starter_order {
    enum { START, END, PLACE, START_READER, END_READER } what;
    int part;  /* PLACE: a CPU, or -1; of readers: the slot */
    uid_t uid; /* START_READER */
};

/* `socket` leads to `broker`, whose child this is; `state` is the directory of its journal, or -1. Ends with the broker. */
__attribute__((noreturn)) void starter_serve(int socket, int state, pid_t broker);

#endif
