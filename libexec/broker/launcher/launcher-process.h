/* The launcher's process: it obeys the broker, and does nothing else. */
#ifndef RTF_LAUNCHER_PROCESS_H
#define RTF_LAUNCHER_PROCESS_H

#include <sys/types.h>

struct launcher_order {
    enum { START, END, PLACE, START_READER, END_READER } what;
    /* the number of the child; with PLACE, a CPU or -1; with the orders about readers, the slot */
    int child;
    uid_t uid; /* only with START_READER */
};

/* `socket` leads to `broker`, the parent process; `state` is the directory of the journal, or -1.
 * The launcher ends when the broker ends. */
__attribute__((noreturn)) void launcher_serve(int socket, int state, pid_t broker);

#endif
