/* Makes SCHED_DEADLINE threads ordinary in a way that keeps the kernel's account of reserved
 * bandwidth right. */
#ifndef RTF_DEMOTE_H
#define RTF_DEMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "thread.h"

/* For each thread, call demote_begin before all other functions of this header, and demote_end
 * after them. pidfd: the thread's pidfd. If the thread has ended between the two calls, demote_end
 * repairs the kernel's count of SCHED_DEADLINE threads in its cpuset. demote_repair: does this. A
 * program that may not fork names another function first, which has another program call
 * demote_repair. */
void demote_begin(void);
void demote_end(pid_t tid, int pidfd);
void demote_repair(void);
void demote_repair_by(void (*other)(void));

/* The overrun of a thread: the CPU time that the thread has used beyond its runtime. The thread
 * pays the overrun back: the kernel postpones its next periods. The caller keeps this struct from
 * one demotion to the next; {0} at first. */
struct overrun {
    long long deadline;      /* absolute deadline when the thread overran, ns; 0: no overrun */
    uint64_t counted_us;     /* us for which the kernel still counts the thread's bandwidth */
    long long last_deadline; /* absolute deadline at the last demotion, ns; 0: unknown */
};

/* Takes a thread, whose attributes are `now`, out of real-time scheduling. The thread gets the
 * attributes `former`, or becomes an ordinary thread if `former` has a real-time policy. *overrun:
 * before the call, an earlier overrun of the thread, which the thread has paid back by now; after
 * the call, the overrun at this demotion. -1: errno says why. */
int demote(pid_t tid, const struct attributes *now, const struct attributes *former,
           struct overrun *overrun);
void demote_to_ordinary(pid_t tid, const struct attributes *now);

/* Call demote_note_counted after a demotion, if the kernel goes on counting the thread's bandwidth
 * for `us`. The function notes this time. False: `us` is 0, or is longer than any caller waits;
 * then the noted time is 0. demote_counted_us returns the noted time. demote_begin sets the noted
 * time to 0. */
bool demote_note_counted(uint64_t us);
uint64_t demote_counted_us(void);

/* Demotes a thread that is or was SCHED_DEADLINE and gets no more replenishment, so that the kernel
 * stops counting bandwidth for the thread. */
void demote_return_bandwidth(pid_t tid, const struct attributes *former);

/* Reads the remaining runtime (negative: overrun) and the absolute deadline from /proc/TID/sched,
 * in ns. Both are 0 if they are unknown. */
void demote_read_budget(pid_t tid, long long *remaining, long long *deadline);

#endif
