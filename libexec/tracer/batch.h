/* The kernel's events since the last look, before anything of them leaves. */
#ifndef RTF_BATCH_H
#define RTF_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "watch/trace-events.h"
#include "watch/record.h"

/* names: of `thread` and of `next`, in a RECORD_SWITCH. */
struct event {
    struct record record;
    size_t place; /* in the order in which the kernel's pages had them */
    char from[RECORD_NAME], to[RECORD_NAME];
};

struct batch {
    struct event *events; /* in the order of their times */
    size_t count, size;
    char from[RECORD_NAME], to[RECORD_NAME]; /* of the next event */
    bool full;
    uint64_t *dropped; /* for each CPU: how often its buffer had no room, since the beginning */
};

/* Replaces the batch. True: there are more events; they make another batch. */
bool batch_take(struct batch *batch, struct events *source);

#endif
