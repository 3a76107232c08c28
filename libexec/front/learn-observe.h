/* Observes a process for some time. */
#ifndef RTF_LEARN_OBSERVE_H
#define RTF_LEARN_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "learn/observer.h"

/* Observes until this time (ns of CLOCK_MONOTONIC). is_exact: reads what the scheduler has charged
 * after each burst, which costs a wake-up for each. False: one of the two descriptors (-1: none)
 * has become readable before. The last call before the threads are judged is observer_end. */
bool learn_observe(struct observer *observer, const int interrupts[static 2], int64_t end,
                   bool is_exact);

#endif
