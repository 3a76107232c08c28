/* Holds /dev/cpu_dma_latency open. As long as the file is open, the kernel lets no CPU enter an
 * idle state that takes longer to leave than the time written to the file. The limit ends when the
 * descriptor is closed, also when the helper is killed. */
#ifndef RTF_CPU_LATENCY_H
#define RTF_CPU_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "apply-result.h"

#define CPU_LATENCY_DEVICE "/dev/cpu_dma_latency"

/* Sets the limit (us); 0: no limit. False: *reason says why. */
bool cpu_latency_hold(uint64_t microseconds, char reason[static APPLY_REASON]);

#endif
