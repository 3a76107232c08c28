/* Keeps all CPUs from idling, because some virtual machines lose events of idle CPUs. On each CPU,
 * a SCHED_IDLE thread runs when no other thread can run. */
#ifndef RTF_WATCH_AWAKE_H
#define RTF_WATCH_AWAKE_H

#include <stdbool.h>

/* Starts the threads. False with errno: some CPUs may idle. Call awake_end also after false. */
bool awake_begin(void);
void awake_end(void);

#endif
