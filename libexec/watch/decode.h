/* Turns the kernel's pages of events into records. The kernel describes its formats in tracefs;
 * libtraceevent reads the descriptions and the pages. */
#ifndef RTF_WATCH_DECODE_H
#define RTF_WATCH_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace-instance.h"
#include "record.h"

struct decoder;

/* `take` is called for each record, and `name` with the names of both threads of a RECORD_SWITCH. A
 * name has up to RECORD_NAME bytes, which a user may have chosen freely. `missed` is called if the
 * kernel had no room for events of a CPU. */
struct decoder_listener {
    void (*take)(void *context, const struct record *record);
    void (*name)(void *context, pid_t thread, const char name[static RECORD_NAME]);
    void (*missed)(void *context, uint16_t cpu);
};

/* The events that a decoder knows. Each recording has the first DECODE_EVENTS events. The events
 * from there to DECODE_ALL tell why jobs are late, and a kernel may lack some of them. */
enum decode_event {
    DECODE_SWITCH,
    DECODE_WAKING,
    DECODE_MIGRATE,
    DECODE_TIMER_START,
    DECODE_TIMER_EXPIRE,
    DECODE_EVENTS,
    DECODE_CALL = DECODE_EVENTS,
    DECODE_RETURN,
    DECODE_FAULT,
    DECODE_INTERRUPT,
    DECODE_RESUME,
    DECODE_SOFT_INTERRUPT,
    DECODE_SOFT_RESUME,
    DECODE_TICK, /* an interrupt of the CPU's own timer */
    DECODE_TICK_RESUME,
    DECODE_ALL
};
/* Returns the path of the event in tracefs, such as "sched/sched_switch". */
const char *decode_event_path(enum decode_event event);

/* Makes a decoder. NULL: the kernel lacks one of the first DECODE_EVENTS events, or a field. */
struct decoder *decoder_open(const struct instance *instance);
bool decoder_knows(const struct decoder *decoder, enum decode_event event);
size_t decoder_page_size(const struct decoder *decoder);
void decoder_take_page(struct decoder *decoder, uint16_t cpu, void *page,
                       const struct decoder_listener *listener, void *context);
/* Replaces each byte of a thread's name that is not printable ASCII by a question mark. */
void decoder_make_plain(struct decoder *decoder, void *page);
void decoder_close(struct decoder *decoder);

#endif
