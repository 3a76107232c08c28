/* A batch: the kernel's events since the last look. Nothing of a batch leaves rtf-watch before the
 * threads in it are checked (clients.h). */
#ifndef RTF_BATCH_H
#define RTF_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "watch/trace-events.h"
#include "watch/record.h"

/* from and to: the names of `thread` and of `next` in a RECORD_SWITCH. */
struct event {
    struct record record;
    size_t place; /* the position among the events in the kernel's pages */
    char from[RECORD_NAME], to[RECORD_NAME];
};

struct batch {
    struct event *events; /* in the order of their times */
    size_t count, size;
    char from[RECORD_NAME], to[RECORD_NAME]; /* the names of the next event */
    bool full;
    uint64_t *dropped; /* for each CPU: how often its buffer had no room, since the beginning */
};

/* Replaces the batch by the next events. True: more events are left for another batch. */
bool batch_take(struct batch *batch, struct events *source);

#endif
