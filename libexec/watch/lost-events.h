/* Events of the scheduler get lost in some contexts, and the kernel does not count them. The chain
 * of threads on a CPU shows a lost event: the thread that leaves a CPU must be the thread that got
 * this CPU last. */
#ifndef RTF_WATCH_LOST_EVENTS_H
#define RTF_WATCH_LOST_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record.h"

/* The thread that has the CPU according to the records, and the time since when. */
struct chain {
    bool known;
    pid_t thread;
    int64_t since;
};

/* True if an event of the CPU between the last record and this RECORD_SWITCH is lost. */
bool lost_event_before(const struct chain *chain, const struct record *record);

/* Notes the thread that gets the CPU by this record. */
void chain_follow(struct chain *chain, const struct record *record);

#endif
