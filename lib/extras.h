/* The things that a reservation gives an attached thread in addition to CPU time: the keys
 * lock_memory, cpu_latency, nice and clamp of a spec. A spec may leave each of these keys out; then
 * the member below is 0. */
#ifndef RTF_EXTRAS_H
#define RTF_EXTRAS_H

#include <stdbool.h>
#include <stdint.h>

#include "paragraph.h"

/* NICE_OFFSET: the sender of a paragraph (paragraph.h) adds this number to a nice value, because
 * numbers in paragraphs have no sign. */
enum { NICE_LEAST = -20, NICE_OFFSET = 20, CLAMP_MAX = 1024, CPU_LATENCY_MAX = 1000000 /* us */ };
/* A larger number of bytes is probably a typing error. */
#define LOCK_MEMORY_MAX (UINT64_C(1) << 40)

struct extras {
    uint64_t lock_memory; /* bytes that all threads of the process together may lock in memory */
    uint64_t cpu_latency; /* us: no CPU takes longer than this to wake from idle */
    int nice;             /* -20..-1 */
    int clamp_min, clamp_max; /* the values of sched_setattr(2) plus 1; 0: not stated */
};

bool extras_any(const struct extras *extras);
bool extras_equal(const struct extras *one, const struct extras *other);

/* extras_add writes the extras as lines of a paragraph, and extras_get reads such lines. False: a
 * value is out of its range. */
void extras_add(struct paragraph_output *output, const struct extras *extras);
bool extras_get(const struct paragraph *paragraph, struct extras *extras);

#endif
