/* Finds out whether the kernel ends SCHED_DEADLINE runtimes at its tick, or with a timer before the
 * tick. */
#ifndef RTF_TICK_PROBE_H
#define RTF_TICK_PROBE_H

#include <stdbool.h>

/* Lets a child process use up short SCHED_DEADLINE runtimes, and measures how long it runs. True: a
 * timer ended each runtime. False: the tick ended one of them, or nothing could be measured. Takes
 * up to some 20 ticks. */
bool tick_probe(void);

#endif
