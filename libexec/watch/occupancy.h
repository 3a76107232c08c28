/* Remembers for a while which threads had each CPU, to say who had the CPU while a thread waited
 * for it. The caller must pass each change of the running thread, on all CPUs. */
#ifndef RTF_WATCH_OCCUPANCY_H
#define RTF_WATCH_OCCUPANCY_H

#include <stdint.h>

#include "record.h"

struct occupancy;

/* cpus: higher than the number of each CPU. NULL: there is no memory. */
struct occupancy *occupancy_new(unsigned cpus);
void occupancy_free(struct occupancy *occupancy);

/* Takes the next RECORD_SWITCH, in the order of times. */
void occupancy_take(struct occupancy *occupancy, const struct record *record);

struct occupancy_wait {
    enum wait_kind kind; /* the kind that took the largest part of the wait */
    uint16_t others;     /* WAIT_OTHERS: how many threads */
};

/* Tells who had the CPU from `since` until the RECORD_SWITCH by which `next` gets this CPU. Call this
 * after occupancy_take of that record. */
struct occupancy_wait occupancy_explain(const struct occupancy *occupancy,
                                        const struct record *record, int64_t since);

#endif
