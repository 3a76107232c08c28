/* The kernel has a single value of cpu_latency, so the least value of all attached threads is held. */
#ifndef RTF_LEAST_CPU_LATENCY_H
#define RTF_LEAST_CPU_LATENCY_H

#include <stdint.h>

/* Returns the least value that an attached thread has, in us; 0: no thread has one. */
uint64_t least_cpu_latency(void);

#endif
