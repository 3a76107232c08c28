/* Holds /dev/cpu_dma_latency open: the kernel then lets no CPU enter an idle state that takes
 * longer to leave. The kernel ends this with the descriptor, also when the helper is killed. */
#ifndef RTF_CPU_LATENCY_H
#define RTF_CPU_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "apply-result.h"

#define CPU_LATENCY_DEVICE "/dev/cpu_dma_latency"

/* us; 0: nothing is held. False: *reason. */
bool cpu_latency_hold(uint64_t microseconds, char reason[static APPLY_REASON]);

#endif
