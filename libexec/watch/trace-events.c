#include "trace-events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "clock.h"
#include "units.h"

/* The kernel takes filters of up to one page. For more threads than FILTER_THREADS there is no
 * filter, and the kernel records the events of all threads. */
enum { FILTER_MOST = 4000, FILTER_THREADS = 64, CONDITION = 64 };
#define BUFFER_KB "4096" /* for each CPU */

struct events {
    struct instance instance;
    struct decoder *decoder;
    int epoll;
    /* the part of a filter that selects timers with the function dl_task_timer; "": the kernel
     * takes no such filter */
    char condition[CONDITION];
    void *page;
    int *files; /* trace_pipe_raw of each CPU; -1: the CPU is offline */
    unsigned cpus;
    bool has_causes;
};

/* ---- filters ---- */

uint64_t events_replenishment(void)
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

static bool put_filter(const struct events *events, enum decode_event event, const char *filter)
{
    char path[INSTANCE_PATH];
    snprintf(path, sizeof path, "events/%s/filter", decode_event_path(event));
    return instance_put(&events->instance, path, filter);
}

/* Makes a filter for the timers that replenish threads. An expired timer does not name its thread,
 * so the filter selects all timers with the function dl_task_timer. Linux before 6.3 does not know
 * the function by its name. There the filter needs the address of the function, which the kernel
 * may hide. */
static void find_timers(struct events *events)
{
    snprintf(events->condition, sizeof events->condition, "function.function == dl_task_timer");
    if (put_filter(events, DECODE_TIMER_EXPIRE, events->condition))
        return;
    const uint64_t address = events_replenishment();
    snprintf(events->condition, sizeof events->condition, "function == 0x%llx",
             (unsigned long long)address);
    if (address == 0 || !put_filter(events, DECODE_TIMER_EXPIRE, events->condition))
        events->condition[0] = '\0';
}

/* Makes the kernel record an event only if one of the fields is one of the threads, and the
 * condition holds. */
static bool filter_threads(const struct events *events, enum decode_event event,
                           const char *const fields[], const pid_t *threads, size_t count,
                           const char *condition)
{
    char filter[FILTER_MOST] = "";
    size_t used = 0;
    if (count > FILTER_THREADS)
        return put_filter(events, event, condition[0] == '\0' ? "0" : condition);
    if (condition[0] != '\0')
        used = (size_t)snprintf(filter, sizeof filter, "%s && (", condition);
    for (size_t i = 0; i < count; i++)
        for (int field = 0; fields[field] != NULL; field++)
            used += (size_t)snprintf(filter + used, sizeof filter - used, "%s%s == %d",
                                     i == 0 && field == 0 ? "" : " || ", fields[field],
                                     (int)threads[i]);
    if (condition[0] != '\0')
        snprintf(filter + used, sizeof filter - used, ")");
    return put_filter(events, event, filter);
}

bool events_follow(struct events *events, const pid_t *threads, size_t count, bool every_switch)
{
    static const char *const thread[] = {"pid", NULL},
                             *const both[] = {"prev_pid", "next_pid", NULL},
                             *const context[] = {"common_pid", NULL};
    return (every_switch ? put_filter(events, DECODE_SWITCH, "0")
                         : filter_threads(events, DECODE_SWITCH, both, threads, count, "")) &&
           filter_threads(events, DECODE_WAKING, thread, threads, count, "") &&
           filter_threads(events, DECODE_MIGRATE, thread, threads, count, "") &&
           (!events_know_timers(events) ||
            filter_threads(events, DECODE_TIMER_START, context, threads, count, events->condition));
}

/* ---- opening ---- */

static bool enable(const struct events *events, enum decode_event event, bool on)
{
    char path[INSTANCE_PATH];
    snprintf(path, sizeof path, "events/%s/enable", decode_event_path(event));
    return instance_put(&events->instance, path, on ? "1" : "0");
}

bool events_enable(struct events *events)
{
    for (enum decode_event event = 0; event < DECODE_EVENTS; event++) {
        if (!events_know_timers(events) &&
            (event == DECODE_TIMER_START || event == DECODE_TIMER_EXPIRE))
            continue;
        if (!enable(events, event, true))
            return false;
    }
    return true;
}

/* Enables an event that tells why jobs are late, for some threads. The event happens very often, so
 * its filter is set before the event is enabled. */
static bool follow_cause(const struct events *events, enum decode_event event, const pid_t *threads,
                         size_t count)
{
    static const char *const context[] = {"common_pid", NULL};
    return !decoder_knows(events->decoder, event) ||
           (filter_threads(events, event, context, threads, count, "") &&
            enable(events, event, true));
}

bool events_follow_causes(struct events *events, const pid_t *threads, size_t count)
{
    bool good = count <= EVENTS_CAUSES;
    if (count == 0 && !events->has_causes)
        return true;
    errno = E2BIG;
    for (enum decode_event event = DECODE_EVENTS; good && event < DECODE_ALL; event++)
        good = count > 0 ? follow_cause(events, event, threads, count)
                         : !decoder_knows(events->decoder, event) || enable(events, event, false);
    events->has_causes = count > 0;
    return good;
}

static bool knows(const struct events *events, enum decode_event first, enum decode_event last)
{
    bool all = true;
    for (enum decode_event event = first; event <= last; event++)
        all &= decoder_knows(events->decoder, event);
    return all;
}

unsigned events_causes(const struct events *events)
{
    return (knows(events, DECODE_CALL, DECODE_RETURN) ? EVENTS_CALLS : 0) |
           (knows(events, DECODE_FAULT, DECODE_FAULT) ? EVENTS_FAULTS : 0) |
           (knows(events, DECODE_INTERRUPT, DECODE_SOFT_RESUME) ? EVENTS_INTERRUPTS : 0) |
           (knows(events, DECODE_TICK, DECODE_TICK_RESUME) ? EVENTS_TICKS : 0);
}

static bool set_up(const struct events *events)
{
    const struct instance *instance = &events->instance;
    return instance_put(instance, "tracing_on", "0") &&
           instance_put(instance, "trace_clock", "mono") &&
           instance_put(instance, "buffer_size_kb", BUFFER_KB);
}

static bool open_buffers(struct events *events)
{
    char path[64];
    events->page = malloc(decoder_page_size(events->decoder));
    for (unsigned cpu = 0; cpu < events->cpus; cpu++) {
        struct epoll_event event = {.events = EPOLLIN};
        snprintf(path, sizeof path, "per_cpu/cpu%u/trace_pipe_raw", cpu);
        const int file = instance_open(&events->instance, path, O_RDONLY | O_NONBLOCK);
        events->files[cpu] = file;
        if (file < 0 && errno == ENOENT) /* there is no such CPU */
            continue;
        if (file < 0 || epoll_ctl(events->epoll, EPOLL_CTL_ADD, file, &event) != 0)
            return false;
    }
    return events->page != NULL;
}

static bool open_all(struct events *events, int root, char why[static EVENTS_WHY])
{
    if (!instance_make(&events->instance, root)) {
        snprintf(why, EVENTS_WHY, "the events of the scheduler cannot be read from tracefs: %s",
                 strerror(errno));
        return false;
    }
    find_timers(events);
    events->decoder = decoder_open(&events->instance);
    if (events->decoder == NULL) {
        snprintf(why, EVENTS_WHY, "this kernel lacks an event of the scheduler or of its timers");
        return false;
    }
    if (set_up(events) && open_buffers(events))
        return true;
    snprintf(why, EVENTS_WHY, "the events of the scheduler cannot be switched on: %s",
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

struct events *events_open(int root, char why[static EVENTS_WHY])
{
    struct events *events = calloc(1, sizeof *events);
    snprintf(why, EVENTS_WHY, "%s", strerror(ENOMEM));
    if (events == NULL)
        return NULL;
    events->instance.root = -1;
    events->cpus = count_cpus();
    events->files = calloc(events->cpus, sizeof *events->files);
    for (unsigned cpu = 0; events->files != NULL && cpu < events->cpus; cpu++)
        events->files[cpu] = -1;
    events->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (events->files != NULL && events->epoll >= 0 && open_all(events, root, why))
        return events;
    events_close(events);
    return NULL;
}

void events_close(struct events *events)
{
    for (unsigned cpu = 0; events->files != NULL && cpu < events->cpus; cpu++)
        if (events->files[cpu] >= 0)
            close(events->files[cpu]);
    if (events->epoll >= 0)
        close(events->epoll);
    instance_remove(&events->instance);
    if (events->decoder != NULL)
        decoder_close(events->decoder);
    free(events->files);
    free(events->page);
    free(events);
}

/* ---- recording ---- */

int64_t events_begin(struct events *events)
{
    const int64_t now = monotonic_now();
    (void)instance_put(&events->instance, "tracing_on", "1");
    return now;
}

int64_t events_end(struct events *events)
{
    (void)instance_put(&events->instance, "tracing_on", "0");
    return monotonic_now();
}

void events_drain(struct events *events, const struct decoder_listener *listener, events_page *page,
                  void *context, const bool *full)
{
    const size_t size = decoder_page_size(events->decoder);
    for (unsigned cpu = 0; cpu < events->cpus; cpu++)
        while (events->files[cpu] >= 0 && !*full &&
               read(events->files[cpu], events->page, size) > 0) {
            decoder_take_page(events->decoder, (uint16_t)cpu, events->page, listener, context);
            if (page != NULL)
                page(context, cpu, events->page, size);
        }
}

/* ---- facts about the recording ---- */

bool events_know_timers(const struct events *events)
{
    return events->condition[0] != '\0';
}

int events_descriptor(const struct events *events)
{
    return events->epoll;
}

unsigned events_cpus(const struct events *events)
{
    return events->cpus;
}

const struct instance *events_instance(const struct events *events)
{
    return &events->instance;
}

struct decoder *events_decoder(const struct events *events)
{
    return events->decoder;
}
