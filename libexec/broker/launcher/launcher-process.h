/* The launcher's process: it obeys the broker, and does nothing else. */
#ifndef RTF_LAUNCHER_PROCESS_H
#define RTF_LAUNCHER_PROCESS_H

#include <sys/types.h>

struct launcher_order {
    enum { START, END, PLACE, START_READER, END_READER } what;
    int child; /* PLACE: a CPU, or -1; readers: the slot */
    uid_t uid; /* START_READER */
};

/* `socket` leads to `broker`, the parent process; `state` is the directory of the journal, or -1.
 * Ends with the broker. */
__attribute__((noreturn)) void launcher_serve(int socket, int state, pid_t broker);

#endif
