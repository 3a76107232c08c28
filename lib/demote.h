/* Makes SCHED_DEADLINE threads ordinary in a way that keeps the kernel's account of reserved
 * bandwidth right. */
#ifndef RTF_DEMOTE_H
#define RTF_DEMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "thread.h"

/* Call demote_begin before, and demote_end after, all other calls for one thread. pidfd: the
 * thread's pidfd. If the thread has ended between the two calls, demote_end repairs the kernel's
 * count of SCHED_DEADLINE threads in its cpuset. */
void demote_begin(void);
void demote_end(int pidfd);

/* The overrun of a thread: the CPU time that the thread has used beyond its runtime. The thread
 * pays the overrun back: the kernel postpones its next periods. The caller keeps this struct from
 * one demotion to the next; {0} at first. */
struct overrun {
    long long deadline;      /* absolute deadline when the thread overran, ns; 0: no overrun */
    uint64_t counted_us;     /* us for which the kernel still counts the thread's bandwidth */
    long long last_deadline; /* absolute deadline at the last demotion, ns; 0: unknown */
};

/* Gives a thread with the attributes `now` the policy of `former`; if that policy is real-time,
 * makes the thread ordinary. *overrun, in: the earlier overrun, which is paid back by now; out: the
 * overrun at this demotion. -1 with errno. */
int demote(pid_t tid, const struct attributes *now, const struct attributes *former,
           struct overrun *overrun);
void demote_to_ordinary(pid_t tid, const struct attributes *now);

/* After a demotion: notes that the kernel goes on counting the thread's bandwidth for `us`. False:
 * `us` is 0, or is longer than any caller waits. demote_counted_us returns the noted time;
 * demote_begin sets it to 0. */
bool demote_note_counted(uint64_t us);
uint64_t demote_counted_us(void);

/* Demotes a thread that is or was SCHED_DEADLINE and gets no more replenishment, so that the kernel
 * stops counting bandwidth for the thread. */
void demote_return_bandwidth(pid_t tid, const struct attributes *former);

/* Reads the remaining runtime (negative: overrun) and the absolute deadline from /proc/TID/sched,
 * in ns. Both are 0 if they are unknown. */
void demote_read_budget(pid_t tid, long long *remaining, long long *deadline);

#endif
