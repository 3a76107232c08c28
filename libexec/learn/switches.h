/* Records when a thread gets a CPU and leaves it, by a perf event of the thread
 * (perf_event_open(2)). The kernel allows a user to record their own threads if
 * kernel.perf_event_paranoid is at most 2. */
#ifndef RTF_LEARN_SWITCHES_H
#define RTF_LEARN_SWITCHES_H

#include <sys/types.h>

#include "bursts.h"

struct switches;

/* Begins to record. NULL: errno says why. EACCES: the kernel refuses. ESRCH: there is no such
 * thread. */
struct switches *switches_open(pid_t tid);

/* Returns a descriptor that becomes readable once in each burst: each time the thread has left its
 * CPU, or each time it has got a CPU. Which of the two depends on the time at which the event
 * began. switches_pause and switches_resume change from one to the other, if the thread runs when
 * the first is called and sleeps when the second is called. */
int switches_descriptor(const struct switches *switches);

void switches_pause(struct switches *switches);
void switches_resume(struct switches *switches);

/* Moves the records into the bursts. Call this at least each 100 ms. False: records are lost. */
bool switches_take(struct switches *switches, struct bursts *bursts);

void switches_close(struct switches *switches);

#endif
