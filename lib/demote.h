/* Makes SCHED_DEADLINE threads ordinary in a way that keeps the kernel's account of reserved
 * bandwidth right. */
#ifndef RTF_DEMOTE_H
#define RTF_DEMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "thread.h"

/* Call these around all calls for one thread; pidfd is the thread's. If the thread has ended in
 * between, demote_end repairs the kernel's count of SCHED_DEADLINE threads in its cpuset. */
void demote_begin(void);
void demote_end(int pidfd);

/* The overrun of a thread, kept from one demotion to the next; {0} at first. */
struct overrun {
    long long deadline;      /* absolute deadline when it overran, ns; 0: it has not */
    uint64_t counted_us;     /* us for which the kernel goes on counting its bandwidth */
    long long last_deadline; /* absolute deadline at the last demotion, ns; 0: unknown */
};

/* Gives a thread with the attributes `now` its former policy; if that was real-time, makes it
 * ordinary. *overrun, in: overrun that is repaid by now; out: overrun now. -1 with errno. */
int demote(pid_t tid, const struct attributes *now, const struct attributes *former,
           struct overrun *overrun);
void demote_to_ordinary(pid_t tid, const struct attributes *now);

/* After a demotion: notes that the kernel goes on counting the thread's bandwidth for `us`.
 * False: for 0 us, or for longer than any caller waits. demote_counted_us returns the noted
 * time; demote_begin sets it to 0. */
bool demote_note_counted(uint64_t us);
uint64_t demote_counted_us(void);

/* Demotes a thread that is or was SCHED_DEADLINE and gets no more replenishment, so that the
 * kernel gives back all bandwidth that it still counts for the thread. */
void demote_return_bandwidth(pid_t tid, const struct attributes *former);

/* Reads the rest of the runtime (negative: overrun) and the absolute deadline from
 * /proc/TID/sched, in ns. 0 and 0: unknown. */
void demote_read_budget(pid_t tid, long long *remaining, long long *deadline);

#endif
