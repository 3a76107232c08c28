/* Out of SCHED_DEADLINE, so that the kernel's account of what is taken is right afterwards. */
#ifndef RTF_DEMOTE_H
#define RTF_DEMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "thread.h"

/* Around all that is done to one thread. At the end, what it leaves behind if it has ended meanwhile is put right. */
void demote_begin(void);
void demote_end(int pidfd);

/* What a thread has overrun. */
struct overrun {
    long long deadline; /* its absolute deadline at that time, ns; 0: it has not */
    uint64_t due;       /* for so many us the kernel goes on counting what it had */
    long long seen;     /* its absolute deadline when it was last demoted, ns; 0: unknown */
};

/* Makes a thread that is `now` what it was before, `former`, or ordinary, if that was real-time. -1 with errno. *overrun: what was known of it, and is
 * paid back by now; and what is known then. */
int demote(pid_t tid, const struct attributes *now, const struct attributes *former, struct overrun *overrun);
void demote_to_ordinary(pid_t tid, const struct attributes *now);

/* It has just been demoted, and this is due. False: nothing, or more than anybody waits for. demote_owed: what was true since demote_begin. */
bool demote_owes(uint64_t us);
uint64_t demote_owed(void);

/* It is, or was, SCHED_DEADLINE, and there is no replenishment to come: whatever the kernel still counts for it is given back. */
void demote_settle(pid_t tid, const struct attributes *former);

/* What is left of the runtime, and the absolute deadline, both in ns; 0 and 0: unknown. */
void demote_budget(pid_t tid, long long *remaining, long long *deadline);

#endif
