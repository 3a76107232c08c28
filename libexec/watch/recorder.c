#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <uthash.h>

#include "clock.h"
#include "decode.h"
#include "trace-instance.h"
#include "units.h"

/* The kernel takes filters of up to one page. For more threads than this there is no filter: all
 * events are recorded. */
enum { FILTER_MOST = 3500, FILTER_THREADS = 64 };
#define BUFFER_KB "4096" /* for each CPU */

struct name {
    UT_hash_handle hh;
    pid_t thread;
    char text[DECODE_NAME];
};

struct buffer {
    int file; /* trace_pipe_raw; -1: the CPU is offline */
    uint64_t dropped;
    struct record *records;
    size_t count, size;
    unsigned char *pages; /* the pages that are kept (recorder_keep_pages) */
    size_t kept, kept_size;
};

struct recorder {
    struct instance instance;
    struct decoder *decoder;
    int epoll;
    uint64_t replenishment; /* the address of the kernel's function dl_task_timer; 0: not known */
    void *page;
    struct buffer *buffers;
    unsigned cpus;
    struct name *names;
    struct record *merged;
    size_t total;
    bool full;
    bool keeps_pages;
};

/* ---- what the decoder finds ---- */

static void take_record(void *context, const struct record *record)
{
    struct recorder *recorder = context;
    struct buffer *buffer = &recorder->buffers[record->cpu];
    if (recorder->total == RECORDER_MOST) {
        recorder->full = true;
        return;
    }
    if (buffer->count == buffer->size) {
        const size_t size = buffer->size == 0 ? 4096 : 2 * buffer->size;
        struct record *records = reallocarray(buffer->records, size, sizeof *records);
        recorder->full = records == NULL;
        if (records == NULL)
            return;
        buffer->records = records;
        buffer->size = size;
    }
    buffer->records[buffer->count++] = *record;
    recorder->total++;
}

static void take_name(void *context, pid_t thread, const char text[static DECODE_NAME])
{
    struct recorder *recorder = context;
    struct name *name;
    HASH_FIND(hh, recorder->names, &thread, sizeof thread, name);
    if (name == NULL) {
        name = calloc(1, sizeof *name);
        if (name == NULL)
            return;
        name->thread = thread;
        HASH_ADD(hh, recorder->names, thread, sizeof thread, name);
    }
    memcpy(name->text, text, DECODE_NAME);
}

static void take_missed(void *context, uint16_t cpu)
{
    struct recorder *recorder = context;
    recorder->buffers[cpu].dropped++;
}

void recorder_name(const struct recorder *recorder, pid_t thread, char name[static RECORDER_NAME])
{
    struct name *found;
    HASH_FIND(hh, recorder->names, &thread, sizeof thread, found);
    memset(name, 0, RECORDER_NAME);
    if (found != NULL)
        memcpy(name, found->text, DECODE_NAME);
}

/* ---- preparing ---- */

/* Returns the address of the kernel's function that replenishes SCHED_DEADLINE threads; 0: not
 * known. */
static uint64_t find_replenishment(void)
{
    char line[512];
    unsigned long long address = 0, found = 0;
    char symbol[128];
    FILE *file = fopen("/proc/kallsyms", "re");
    while (file != NULL && found == 0 && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%llx %*c %127s", &address, symbol) == 2 &&
            strcmp(symbol, "dl_task_timer") == 0)
            found = address;
    if (file != NULL)
        fclose(file);
    return found;
}

/* Makes the kernel record an event only if its `field` is one of the threads. */
static bool filter_threads(const struct recorder *recorder, enum decode_event event,
                           const char *field, const pid_t *threads, size_t count)
{
    char filter[FILTER_MOST] = "", path[INSTANCE_PATH];
    size_t used = 0;
    if (count > FILTER_THREADS)
        return true;
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(filter + used, sizeof filter - used, "%s%s == %d",
                                 i == 0 ? "" : " || ", field, (int)threads[i]);
    snprintf(path, sizeof path, "events/%s/filter", decode_event_path(event));
    return instance_put(&recorder->instance, path, filter);
}

/* Makes the kernel record only the timers of the replenishing function. An expired timer does not
 * name its thread, so these are the timers of all threads. */
static bool filter_timers(const struct recorder *recorder)
{
    char filter[64], path[INSTANCE_PATH];
    snprintf(filter, sizeof filter, "function == 0x%llx",
             (unsigned long long)recorder->replenishment);
    snprintf(path, sizeof path, "events/%s/filter", decode_event_path(DECODE_TIMER_EXPIRE));
    return instance_put(&recorder->instance, path, filter);
}

static bool enable(const struct recorder *recorder, enum decode_event event)
{
    char path[INSTANCE_PATH];
    if (recorder->replenishment == 0 &&
        (event == DECODE_TIMER_START || event == DECODE_TIMER_EXPIRE))
        return true;
    snprintf(path, sizeof path, "events/%s/enable", decode_event_path(event));
    return instance_put(&recorder->instance, path, "1");
}

static bool set_up(const struct recorder *recorder, const pid_t *threads, size_t count)
{
    const struct instance *instance = &recorder->instance;
    if (!instance_put(instance, "tracing_on", "0") ||
        !instance_put(instance, "trace_clock", "mono") ||
        !instance_put(instance, "buffer_size_kb", BUFFER_KB) ||
        !filter_threads(recorder, DECODE_WAKING, "pid", threads, count) ||
        !filter_threads(recorder, DECODE_MIGRATE, "pid", threads, count) ||
        !filter_threads(recorder, DECODE_TIMER_START, "common_pid", threads, count) ||
        (recorder->replenishment != 0 && !filter_timers(recorder)))
        return false;
    for (enum decode_event event = 0; event < DECODE_EVENTS; event++)
        if (!enable(recorder, event))
            return false;
    return true;
}

static bool open_buffers(struct recorder *recorder)
{
    char path[64];
    recorder->page = malloc(decoder_page_size(recorder->decoder));
    for (unsigned cpu = 0; cpu < recorder->cpus; cpu++) {
        struct epoll_event event = {.events = EPOLLIN};
        snprintf(path, sizeof path, "per_cpu/cpu%u/trace_pipe_raw", cpu);
        const int file = instance_open(&recorder->instance, path, O_RDONLY | O_NONBLOCK);
        recorder->buffers[cpu].file = file;
        if (file < 0 && errno == ENOENT) /* there is no such CPU */
            continue;
        if (file < 0 || epoll_ctl(recorder->epoll, EPOLL_CTL_ADD, file, &event) != 0)
            return false;
    }
    return recorder->page != NULL;
}

static bool open_all(struct recorder *recorder, const pid_t *threads, size_t count,
                     char why[static RECORDER_WHY])
{
    recorder->replenishment = find_replenishment();
    if (!instance_make(&recorder->instance)) {
        snprintf(why, RECORDER_WHY, "the events of the scheduler cannot be read from tracefs: %s",
                 strerror(errno));
        return false;
    }
    recorder->decoder = decoder_open(&recorder->instance, recorder->replenishment);
    if (recorder->decoder == NULL) {
        snprintf(why, RECORDER_WHY, "this kernel lacks an event of the scheduler or of its timers");
        return false;
    }
    if (set_up(recorder, threads, count) && open_buffers(recorder))
        return true;
    snprintf(why, RECORDER_WHY, "the events of the scheduler cannot be switched on: %s",
             strerror(errno));
    return false;
}

/* Returns a number that is higher than that of each CPU. Numbers may have gaps. */
static unsigned count_cpus(void)
{
    char text[CPU_LIST_TEXT] = "";
    cpu_set_t cpus;
    unsigned count = 1;
    FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
    if (file != NULL && fgets(text, sizeof text, file) != NULL) {
        text[strcspn(text, "\n")] = '\0';
        const bool good = parse_cpus(text, &cpus);
        for (int cpu = 0; good && (cpu = cpu_from(&cpus, cpu)) < CPU_SETSIZE; cpu++)
            count = (unsigned)cpu + 1;
    }
    if (file != NULL)
        fclose(file);
    return count;
}

struct recorder *recorder_open(const pid_t *threads, size_t count, char why[static RECORDER_WHY])
{
    struct recorder *recorder = calloc(1, sizeof *recorder);
    snprintf(why, RECORDER_WHY, "%s", strerror(ENOMEM));
    if (recorder == NULL)
        return NULL;
    recorder->instance.root = -1;
    recorder->cpus = count_cpus();
    recorder->buffers = calloc(recorder->cpus, sizeof *recorder->buffers);
    for (unsigned cpu = 0; recorder->buffers != NULL && cpu < recorder->cpus; cpu++)
        recorder->buffers[cpu].file = -1;
    recorder->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (recorder->buffers != NULL && recorder->epoll >= 0 &&
        open_all(recorder, threads, count, why))
        return recorder;
    recorder_close(recorder);
    return NULL;
}

void recorder_each_name(const struct recorder *recorder,
                        void (*take)(void *context, pid_t thread, const char *name), void *context)
{
    char text[RECORDER_NAME];
    for (const struct name *name = recorder->names; name != NULL; name = name->hh.next) {
        recorder_name(recorder, name->thread, text);
        take(context, name->thread, text);
    }
}

bool recorder_knows_timers(const struct recorder *recorder)
{
    return recorder->replenishment != 0;
}

/* ---- recording ---- */

int64_t recorder_start(struct recorder *recorder)
{
    const int64_t now = monotonic_now();
    (void)instance_put(&recorder->instance, "tracing_on", "1");
    return now;
}

int recorder_descriptor(const struct recorder *recorder)
{
    return recorder->epoll;
}

static void keep_page(struct recorder *recorder, struct buffer *buffer)
{
    const size_t size = decoder_page_size(recorder->decoder);
    if (buffer->kept + size > buffer->kept_size) {
        const size_t more = buffer->kept_size == 0 ? 64 * size : 2 * buffer->kept_size;
        unsigned char *pages = realloc(buffer->pages, more);
        recorder->full = pages == NULL;
        if (pages == NULL)
            return;
        buffer->pages = pages;
        buffer->kept_size = more;
    }
    decoder_make_plain(recorder->decoder, recorder->page);
    memcpy(buffer->pages + buffer->kept, recorder->page, size);
    buffer->kept += size;
}

bool recorder_drain(struct recorder *recorder)
{
    static const struct decoder_listener listener = {take_record, take_name, take_missed};
    const size_t size = decoder_page_size(recorder->decoder);
    for (unsigned cpu = 0; cpu < recorder->cpus; cpu++) {
        struct buffer *buffer = &recorder->buffers[cpu];
        while (buffer->file >= 0 && !recorder->full &&
               read(buffer->file, recorder->page, size) > 0) {
            decoder_take_page(recorder->decoder, (uint16_t)cpu, recorder->page, &listener,
                              recorder);
            if (recorder->keeps_pages)
                keep_page(recorder, buffer);
        }
    }
    return !recorder->full;
}

void recorder_keep_pages(struct recorder *recorder)
{
    recorder->keeps_pages = true;
}

int64_t recorder_stop(struct recorder *recorder)
{
    (void)instance_put(&recorder->instance, "tracing_on", "0");
    const int64_t now = monotonic_now();
    (void)recorder_drain(recorder);
    return now;
}

/* ---- reading ---- */

/* Returns the CPU with the earliest record that is not taken yet, or `cpus` if none is left. */
static unsigned earliest(const struct recorder *recorder, const size_t *taken)
{
    unsigned best = recorder->cpus;
    for (unsigned cpu = 0; cpu < recorder->cpus; cpu++) {
        const struct buffer *buffer = &recorder->buffers[cpu];
        if (taken[cpu] < buffer->count &&
            (best == recorder->cpus ||
             buffer->records[taken[cpu]].time < recorder->buffers[best].records[taken[best]].time))
            best = cpu;
    }
    return best;
}

const struct record *recorder_records(struct recorder *recorder, size_t *count)
{
    size_t *taken = calloc(recorder->cpus, sizeof *taken);
    *count = 0;
    free(recorder->merged);
    recorder->merged = reallocarray(NULL, recorder->total + 1, sizeof *recorder->merged);
    if (taken == NULL || recorder->merged == NULL) {
        free(taken);
        return NULL;
    }
    for (unsigned cpu; (cpu = earliest(recorder, taken)) < recorder->cpus;)
        recorder->merged[(*count)++] = recorder->buffers[cpu].records[taken[cpu]++];
    free(taken);
    return recorder->merged;
}

uint64_t recorder_dropped(const struct recorder *recorder, unsigned cpu)
{
    return recorder->buffers[cpu].dropped;
}

const void *recorder_pages(const struct recorder *recorder, unsigned cpu, size_t *bytes)
{
    *bytes = recorder->buffers[cpu].kept;
    return recorder->buffers[cpu].pages;
}

size_t recorder_page_size(const struct recorder *recorder)
{
    return decoder_page_size(recorder->decoder);
}

const struct instance *recorder_instance(const struct recorder *recorder)
{
    return &recorder->instance;
}

uint64_t recorder_replenishment(const struct recorder *recorder)
{
    return recorder->replenishment;
}

unsigned recorder_cpus(const struct recorder *recorder)
{
    return recorder->cpus;
}

void recorder_close(struct recorder *recorder)
{
    struct name *name, *next;
    for (unsigned cpu = 0; recorder->buffers != NULL && cpu < recorder->cpus; cpu++) {
        if (recorder->buffers[cpu].file >= 0)
            close(recorder->buffers[cpu].file);
        free(recorder->buffers[cpu].records);
        free(recorder->buffers[cpu].pages);
    }
    if (recorder->epoll >= 0)
        close(recorder->epoll);
    instance_remove(&recorder->instance);
    if (recorder->decoder != NULL)
        decoder_close(recorder->decoder);
    HASH_ITER (hh, recorder->names, name, next) {
        HASH_DEL(recorder->names, name);
        free(name);
    }
    free(recorder->buffers);
    free(recorder->page);
    free(recorder->merged);
    free(recorder);
}
