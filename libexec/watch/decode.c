#include "decode.h"

#include <event-parse.h>
#include <kbuffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_MOST = 1 << 14, FIELDS_MOST = 6 };

static const struct {
    const char *system, *name, *path;
    const char *fields[FIELDS_MOST];
} events[DECODE_ALL] = {
    [DECODE_SWITCH] = {"sched",
                       "sched_switch",
                       "sched/sched_switch",
                       {"prev_pid", "next_pid", "prev_state", "prev_comm", "next_comm"}},
    [DECODE_WAKING] = {"sched", "sched_waking", "sched/sched_waking", {"pid", "comm"}},
    [DECODE_MIGRATE] = {"sched",
                        "sched_migrate_task",
                        "sched/sched_migrate_task",
                        {"pid", "comm", "dest_cpu"}},
    [DECODE_TIMER_START] = {"timer",
                            "hrtimer_start",
                            "timer/hrtimer_start",
                            {"hrtimer", "expires"}},
    [DECODE_TIMER_EXPIRE] = {"timer",
                             "hrtimer_expire_entry",
                             "timer/hrtimer_expire_entry",
                             {"hrtimer"}},
    [DECODE_CALL] = {"raw_syscalls", "sys_enter", "raw_syscalls/sys_enter", {"id"}},
    [DECODE_RETURN] = {"raw_syscalls", "sys_exit", "raw_syscalls/sys_exit", {NULL}},
    [DECODE_FAULT] = {"exceptions", "page_fault_user", "exceptions/page_fault_user", {NULL}},
    [DECODE_INTERRUPT] = {"irq", "irq_handler_entry", "irq/irq_handler_entry", {NULL}},
    [DECODE_RESUME] = {"irq", "irq_handler_exit", "irq/irq_handler_exit", {NULL}},
    [DECODE_SOFT_INTERRUPT] = {"irq", "softirq_entry", "irq/softirq_entry", {NULL}},
    [DECODE_SOFT_RESUME] = {"irq", "softirq_exit", "irq/softirq_exit", {NULL}},
    [DECODE_TICK] = {"irq_vectors", "local_timer_entry", "irq_vectors/local_timer_entry", {NULL}},
    [DECODE_TICK_RESUME] = {
        "irq_vectors", "local_timer_exit", "irq_vectors/local_timer_exit", {NULL}}};
/* Indices of events[].fields. */
enum { FROM, TO, STATE, FROM_NAME, TO_NAME };
enum { THREAD, NAME, TO_CPU };
enum { TIMER, EXPIRES };
enum { NUMBER };

/* The kernel's TRACE_FLAG_HARDIRQ, TRACE_FLAG_SOFTIRQ and TRACE_FLAG_NMI: the event happens in an
 * interrupt. */
enum { FLAGS_INTERRUPT = 0x08 | 0x10 | 0x40 };

struct field {
    unsigned offset, size;
};

struct decoder {
    struct tep_handle *tep;
    struct kbuffer *pages;
    int ids[DECODE_ALL]; /* -1: the kernel lacks the event */
    struct field fields[DECODE_ALL][FIELDS_MOST];
    struct field type, context, flags, priority, next_priority;
};

const char *decode_event_path(enum decode_event event)
{
    return events[event].path;
}

/* ---- formats ---- */

static bool set_field(const struct tep_format_field *found, struct field *field)
{
    if (found == NULL)
        return false;
    *field = (struct field){(unsigned)found->offset, (unsigned)found->size};
    return true;
}

static bool read_format(struct decoder *decoder, const struct instance *instance,
                        enum decode_event event)
{
    char path[INSTANCE_PATH], text[FORMAT_MOST];
    snprintf(path, sizeof path, "events/%s/format", events[event].path);
    const size_t length = instance_read(instance, path, text, sizeof text);
    if (length == 0 ||
        tep_parse_event(decoder->tep, text, length, events[event].system) != TEP_ERRNO__SUCCESS)
        return false;
    struct tep_event *found =
        tep_find_event_by_name(decoder->tep, events[event].system, events[event].name);
    if (found == NULL)
        return false;
    decoder->ids[event] = found->id;
    for (int i = 0; i < FIELDS_MOST && events[event].fields[i] != NULL; i++)
        if (!set_field(tep_find_field(found, events[event].fields[i]), &decoder->fields[event][i]))
            return false;
    return event != DECODE_SWITCH ||
           (set_field(tep_find_common_field(found, "common_type"), &decoder->type) &&
            set_field(tep_find_common_field(found, "common_pid"), &decoder->context) &&
            set_field(tep_find_common_field(found, "common_flags"), &decoder->flags) &&
            set_field(tep_find_field(found, "prev_prio"), &decoder->priority) &&
            set_field(tep_find_field(found, "next_prio"), &decoder->next_priority));
}

static bool read_formats(struct decoder *decoder, const struct instance *instance)
{
    char text[FORMAT_MOST];
    const size_t length = instance_read(instance, "events/header_page", text, sizeof text);
    if (length == 0 || tep_parse_header_page(decoder->tep, text, length, sizeof(long)) != 0)
        return false;
    for (enum decode_event event = 0; event < DECODE_EVENTS; event++)
        if (!read_format(decoder, instance, event))
            return false;
    for (enum decode_event event = DECODE_EVENTS; event < DECODE_ALL; event++)
        if (!read_format(decoder, instance, event))
            decoder->ids[event] = -1;
    return true;
}

bool decoder_knows(const struct decoder *decoder, enum decode_event event)
{
    return decoder->ids[event] != -1;
}

struct decoder *decoder_open(const struct instance *instance)
{
    struct decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder == NULL)
        return NULL;
    decoder->tep = tep_alloc();
    decoder->pages = kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST, KBUFFER_ENDIAN_SAME_AS_HOST);
    if (decoder->tep != NULL && decoder->pages != NULL && read_formats(decoder, instance))
        return decoder;
    decoder_close(decoder);
    return NULL;
}

void decoder_close(struct decoder *decoder)
{
    if (decoder->pages != NULL)
        kbuffer_free(decoder->pages);
    tep_free(decoder->tep);
    free(decoder);
}

size_t decoder_page_size(const struct decoder *decoder)
{
    return (size_t)tep_get_sub_buffer_size(decoder->tep);
}

/* ---- events ---- */

struct found {
    const struct decoder *decoder;
    const unsigned char *data;
    enum decode_event event;
};

static uint64_t number_at(const unsigned char *data, struct field field)
{
    union {
        uint8_t one;
        uint16_t two;
        uint32_t four;
        uint64_t eight;
    } number = {0};
    if (field.size > sizeof number)
        return 0;
    memcpy(&number, data + field.offset, field.size);
    return field.size == 8   ? number.eight
           : field.size == 4 ? number.four
           : field.size == 2 ? number.two
                             : number.one;
}

static uint64_t number(const struct found *found, int field)
{
    return number_at(found->data, found->decoder->fields[found->event][field]);
}

static pid_t context_of(const struct found *found)
{
    return (pid_t)number_at(found->data, found->decoder->context);
}

static void name(const struct found *found, int field, char text[static RECORD_NAME])
{
    const struct field at = found->decoder->fields[found->event][field];
    memcpy(text, found->data + at.offset, at.size < RECORD_NAME ? at.size : RECORD_NAME);
}

static void take_switch(const struct found *found, struct record *record,
                        const struct decoder_listener *listener, void *context)
{
    char text[RECORD_NAME] = "";
    record->kind = RECORD_SWITCH;
    record->thread = (pid_t)number(found, FROM);
    record->next = (pid_t)number(found, TO);
    record->state = (uint16_t)number(found, STATE);
    record->priority = (int16_t)number_at(found->data, found->decoder->priority);
    record->next_priority = (int16_t)number_at(found->data, found->decoder->next_priority);
    name(found, FROM_NAME, text);
    listener->name(context, record->thread, text);
    name(found, TO_NAME, text);
    listener->name(context, record->next, text);
}

/* Makes the record of a timer. The kernel's filter (trace-events.c) passes only timers that
 * replenish threads. */
static void take_timer(const struct found *found, struct record *record)
{
    record->timer = number(found, TIMER);
    if (found->event == DECODE_TIMER_START) {
        record->kind = RECORD_THROTTLE;
        record->thread = context_of(found);
        record->expires = (int64_t)number(found, EXPIRES);
    } else
        record->kind = RECORD_REPLENISH;
}

/* Makes the record of a wake-up. In an interrupt, the thread that the interrupt has stopped is not
 * the waker. */
static void take_waking(const struct found *found, struct record *record)
{
    record->kind = RECORD_WAKING;
    record->thread = (pid_t)number(found, THREAD);
    if ((number_at(found->data, found->decoder->flags) & FLAGS_INTERRUPT) != 0)
        record->state = WOKEN_BY_INTERRUPT;
    else
        record->next = context_of(found);
}

/* Makes a record of one of the events that tell causes. */
static void take_cause(const struct found *found, struct record *record)
{
    static const uint8_t kinds[DECODE_ALL] = {
        [DECODE_CALL] = RECORD_CALL,          [DECODE_RETURN] = RECORD_RETURN,
        [DECODE_FAULT] = RECORD_FAULT,        [DECODE_INTERRUPT] = RECORD_INTERRUPT,
        [DECODE_RESUME] = RECORD_RESUME,      [DECODE_SOFT_INTERRUPT] = RECORD_INTERRUPT,
        [DECODE_SOFT_RESUME] = RECORD_RESUME, [DECODE_TICK] = RECORD_INTERRUPT,
        [DECODE_TICK_RESUME] = RECORD_RESUME};
    record->kind = kinds[found->event];
    record->thread = context_of(found);
    if (found->event == DECODE_CALL)
        record->call = (uint16_t)number(found, NUMBER);
    if (found->event == DECODE_TICK)
        record->state = INTERRUPT_OF_TIMER;
}

static void take_event(const struct found *found, int64_t time, uint16_t cpu,
                       const struct decoder_listener *listener, void *context)
{
    struct record record = {.time = time, .cpu = cpu};
    switch (found->event) {
    case DECODE_SWITCH: take_switch(found, &record, listener, context); break;
    case DECODE_WAKING: take_waking(found, &record); break;
    case DECODE_MIGRATE:
        record.kind = RECORD_MIGRATE;
        record.thread = (pid_t)number(found, THREAD);
        record.to_cpu = (uint16_t)number(found, TO_CPU);
        break;
    case DECODE_TIMER_START:
    case DECODE_TIMER_EXPIRE: take_timer(found, &record); break;
    case DECODE_CALL:
    case DECODE_RETURN:
    case DECODE_FAULT:
    case DECODE_INTERRUPT:
    case DECODE_RESUME:
    case DECODE_SOFT_INTERRUPT:
    case DECODE_SOFT_RESUME:
    case DECODE_TICK:
    case DECODE_TICK_RESUME: take_cause(found, &record); break;
    case DECODE_ALL: return;
    }
    listener->take(context, &record);
}

/* Returns the kind of an event; DECODE_ALL: the decoder does not know it. */
static enum decode_event event_of(const struct decoder *decoder, const void *data)
{
    const int id = (int)number_at(data, decoder->type);
    enum decode_event event = 0;
    while (event < DECODE_ALL && decoder->ids[event] != id)
        event++;
    return event;
}

void decoder_take_page(struct decoder *decoder, uint16_t cpu, void *page,
                       const struct decoder_listener *listener, void *context)
{
    unsigned long long time;
    if (kbuffer_load_subbuffer(decoder->pages, page) != 0)
        return;
    if (kbuffer_missed_events(decoder->pages) != 0)
        listener->missed(context, cpu);
    for (const void *data = kbuffer_read_event(decoder->pages, &time); data != NULL;
         data = kbuffer_next_event(decoder->pages, &time)) {
        const struct found found = {decoder, data, event_of(decoder, data)};
        take_event(&found, (int64_t)time, cpu, listener, context);
    }
}

/* ---- names of threads in a page ---- */

static void make_plain(unsigned char *data, struct field field)
{
    for (unsigned i = 0; i < field.size && data[field.offset + i] != '\0'; i++)
        if (data[field.offset + i] < ' ' || data[field.offset + i] > '~')
            data[field.offset + i] = '?';
}

void decoder_make_plain(struct decoder *decoder, void *page)
{
    unsigned long long time;
    if (kbuffer_load_subbuffer(decoder->pages, page) != 0)
        return;
    for (void *data = kbuffer_read_event(decoder->pages, &time); data != NULL;
         data = kbuffer_next_event(decoder->pages, &time)) {
        const enum decode_event event = event_of(decoder, data);
        if (event == DECODE_SWITCH) {
            make_plain(data, decoder->fields[event][FROM_NAME]);
            make_plain(data, decoder->fields[event][TO_NAME]);
        } else if (event == DECODE_WAKING || event == DECODE_MIGRATE)
            make_plain(data, decoder->fields[event][NAME]);
    }
}
