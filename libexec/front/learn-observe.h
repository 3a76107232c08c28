/* Observes a process for some time. */
#ifndef RTF_LEARN_OBSERVE_H
#define RTF_LEARN_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "learn/observer.h"

/* Observes until the time `end` (ns of CLOCK_MONOTONIC). is_exact: reads the CPU time that the
 * scheduler has charged after each burst of a thread; this wakes the observer once for each burst.
 * False: one of the two descriptors `interrupts` (-1: none) has become readable before `end`. Call
 * observer_end before the threads are judged. */
bool learn_observe(struct observer *observer, const int interrupts[static 2], int64_t end,
                   bool is_exact);

#endif
