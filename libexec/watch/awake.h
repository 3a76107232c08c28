/* Keeps all CPUs from idling: on each CPU, a thread of SCHED_IDLE runs when no other thread can.
 * Some virtual machines lose events in the context of a CPU's idle thread. */
#ifndef RTF_WATCH_AWAKE_H
#define RTF_WATCH_AWAKE_H

#include <stdbool.h>

/* Starts the threads. False with errno: some CPUs may idle. Call awake_end in either case. */
bool awake_begin(void);
void awake_end(void);

#endif
