#include "trace-dat.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"
#include "trace-instance.h"

enum { TEXT_MOST = 1 << 14, CPU_BYTES = 16 };

static const char *const systems[] = {"sched", "timer"};
enum { SYSTEMS = sizeof systems / sizeof *systems };

static size_t page_size(const struct recorder *recorder)
{
    return decoder_page_size(events_decoder(recorder_events(recorder)));
}

static void put(const void *bytes, size_t size, FILE *stream)
{
    (void)fwrite(bytes, 1, size, stream);
}

static void put_byte(int byte, FILE *stream)
{
    (void)fputc(byte, stream);
}

static void put_32(size_t number, FILE *stream)
{
    const uint32_t value = (uint32_t)number;
    put(&value, sizeof value, stream);
}

static void put_64(uint64_t number, FILE *stream)
{
    put(&number, sizeof number, stream);
}

/* Writes the word and its final zero byte. */
static void put_word(const char *word, FILE *stream)
{
    put(word, strlen(word) + 1, stream);
}

/* Writes the length of a file of tracefs, and then the file. */
static bool put_file(const struct instance *instance, const char *file, FILE *stream)
{
    char text[TEXT_MOST];
    const size_t length = instance_read(instance, file, text, sizeof text);
    put_64(length, stream);
    put(text, length, stream);
    return length > 0;
}

static bool is_of(enum decode_event event, const char *system)
{
    const size_t length = strlen(system);
    return strncmp(decode_event_path(event), system, length) == 0 &&
           decode_event_path(event)[length] == '/';
}

static bool put_system(const struct instance *instance, const char *system, FILE *stream)
{
    char path[INSTANCE_PATH];
    uint32_t count = 0;
    bool good = true;
    for (enum decode_event event = 0; event < DECODE_EVENTS; event++)
        count += is_of(event, system);
    put_word(system, stream);
    put_32(count, stream);
    for (enum decode_event event = 0; event < DECODE_EVENTS; event++)
        if (is_of(event, system)) {
            snprintf(path, sizeof path, "events/%s/format", decode_event_path(event));
            good &= put_file(instance, path, stream);
        }
    return good;
}

/* Writes a line "TID NAME". The name ends with the line, so it may have blanks, but no newline. */
static void put_name(void *context, pid_t thread, const char *name)
{
    FILE *stream = context;
    fprintf(stream, "%d ", (int)thread);
    for (; *name != '\0'; name++)
        fputc(*name < ' ' || *name > '~' ? '?' : *name, stream);
    fputc('\n', stream);
}

static void put_names(const struct recorder *recorder, FILE *stream)
{
    char *text = NULL;
    size_t length = 0;
    FILE *names = open_memstream(&text, &length);
    if (names != NULL) {
        recording_each_name(recorder_recording(recorder), put_name, names);
        (void)fclose(names);
    }
    put_64(length, stream);
    put(text, length, stream);
    free(text);
}

static void put_symbols(FILE *stream)
{
    char text[64];
    const int length = snprintf(text, sizeof text, "%llx t dl_task_timer\n",
                                (unsigned long long)events_replenishment());
    put_32((size_t)length, stream);
    put(text, (size_t)length, stream);
}

/* Writes all that stands before the places of the CPUs' pages. */
static bool put_head(const struct recorder *recorder, FILE *stream)
{
    static const unsigned char magic[] = {0x17, 0x08, 0x44};
    const struct instance *instance = events_instance(recorder_events(recorder));
    const uint16_t order = 1;
    put(magic, sizeof magic, stream);
    put("tracing", strlen("tracing"), stream);
    put_word("6", stream);
    put_byte(*(const unsigned char *)&order == 0, stream); /* 1: the highest byte comes first */
    put_byte(sizeof(long), stream);
    put_32(page_size(recorder), stream);
    put_word("header_page", stream);
    bool good = put_file(instance, "events/header_page", stream);
    put_word("header_event", stream);
    good &= put_file(instance, "events/header_event", stream);
    put_32(0, stream); /* no formats of the kernel's other tracers */
    put_32(SYSTEMS, stream);
    for (int i = 0; i < SYSTEMS; i++)
        good &= put_system(instance, systems[i], stream);
    put_symbols(stream);
    put_32(0, stream); /* no formats of trace_printk */
    put_names(recorder, stream);
    put_32(events_cpus(recorder_events(recorder)), stream);
    put_word("flyrecord", stream);
    return good;
}

static uint64_t round_up(uint64_t bytes, uint64_t page)
{
    return (bytes + page - 1) / page * page;
}

/* Writes the pages of all CPUs, each at a multiple of its size in the file. */
static void put_pages(const struct recorder *recorder, uint64_t at, FILE *stream)
{
    const unsigned cpus = events_cpus(recorder_events(recorder));
    const uint64_t page = page_size(recorder), begin = at + CPU_BYTES * (uint64_t)cpus;
    uint64_t place = round_up(begin, page);
    size_t bytes;
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        (void)recorder_pages(recorder, cpu, &bytes);
        put_64(place, stream);
        put_64(bytes, stream);
        place += bytes;
    }
    for (uint64_t i = begin; i < round_up(begin, page); i++)
        put_byte(0, stream);
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        const void *pages = recorder_pages(recorder, cpu, &bytes);
        if (bytes > 0)
            put(pages, bytes, stream);
    }
}

bool trace_dat_write(const struct recorder *recorder, FILE *stream)
{
    char *head = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&head, &length);
    if (memory == NULL)
        return false;
    const bool good = put_head(recorder, memory);
    if (fclose(memory) != 0)
        return false;
    put(head, length, stream);
    put_pages(recorder, length, stream);
    free(head);
    if (!good)
        errno = ENODATA;
    return good;
}
