#include "batch.h"

#include <stdlib.h>
#include <string.h>

/* A batch with this many events is full. It still takes the rest of the present page of the
 * kernel. */
enum { BATCH_MOST = 1 << 17 };

static void take_name(void *context, pid_t thread, const char text[static RECORD_NAME])
{
    struct batch *batch = context;
    (void)thread;
    memcpy(batch->from, batch->to, RECORD_NAME); /* the decoder names first `thread`, then `next` */
    memcpy(batch->to, text, RECORD_NAME);
}

static void take_record(void *context, const struct record *record)
{
    struct batch *batch = context;
    if (batch->count == batch->size) {
        batch->size = batch->size == 0 ? 4096 : 2 * batch->size;
        batch->events = reallocarray(batch->events, batch->size, sizeof *batch->events);
        if (batch->events == NULL)
            abort(); /* the guard removes the instance */
    }
    struct event *event = &batch->events[batch->count];
    *event = (struct event){.record = *record, .place = batch->count++};
    if (record->kind == RECORD_SWITCH) {
        memcpy(event->from, batch->from, RECORD_NAME);
        memcpy(event->to, batch->to, RECORD_NAME);
    }
    batch->full |= batch->count >= BATCH_MOST;
}

static void take_missed(void *context, uint16_t cpu)
{
    const struct batch *batch = context;
    batch->dropped[cpu]++;
}

static int compare(const void *one, const void *two)
{
    const struct event *a = one, *b = two;
    if (a->record.time != b->record.time)
        return a->record.time < b->record.time ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

bool batch_take(struct batch *batch, struct events *source)
{
    static const struct decoder_listener listener = {take_record, take_name, take_missed};
    batch->count = 0;
    batch->full = false;
    events_drain(source, &listener, NULL, batch, &batch->full);
    if (batch->count > 0)
        qsort(batch->events, batch->count, sizeof *batch->events, compare);
    return batch->full;
}
