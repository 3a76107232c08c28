/* group-times - the CPU time that the members of a group have at a real-time priority
 *
 * usage: group-times GROUP RUNTIME PERIOD COUNT      (times in us)
 *
 * GROUP is the name of a group (lib/process-budget.h). Prints `USED MOST` for each of
 * COUNT periods, in us: the time that all its members used on all CPUs while they were real-time,
 * and the most that they may use. MOST is RUNTIME and one tick.
 *
 * Members that are ordinary use the rest of the CPU, and this time must not count. A counter of
 * perf counts it, whatever the priority of a member is. No nice value keeps it small: where all
 * threads are in one queue of the kernel's fair scheduler, each of 64 members of nice 19 gets a
 * slice before a thread of nice -20 gets its share. So this program looks at each time that a
 * member leaves a CPU. The kernel's record of it (sched_switch) has the priority that the member had
 * until then. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "process-budget.h"
#include "tick.h"
#include "tracing.h"

enum { CPUS = 64, OWN_PRIORITY = 50, RING_PAGES = 256, RECORD_MAX = 256, FORMAT = 4096 };
enum { LOWEST_REAL_TIME = 98 }; /* the kernel's numbers: -1 is SCHED_DEADLINE, 0 is FIFO 99 */

static struct cpu {
    int clock, switches;
    struct perf_event_mmap_page *page;
    int64_t counted;
} cpus[CPUS];
static int cpu_count;
static size_t page_bytes;

/* The record of a member that leaves a CPU. */
struct sample {
    struct perf_event_header header;
    int64_t time;           /* ns, CLOCK_MONOTONIC */
    uint64_t count;         /* of the events that follow */
    int64_t clock, records; /* clock: the CPU time of all members on this CPU, ns */
    uint32_t raw_size;
    unsigned char raw[];
};
static unsigned priority_at; /* the offset of prev_prio in sample.raw, bytes */

struct periods {
    int64_t begin, length; /* ns */
    int count;
    int64_t *used;
};

static void fail(int status, const char *what)
{
    fprintf(stderr, "group-times: %s: %m\n", what);
    exit(status);
}

/* ---- the events ---- */

/* Reads a description in tracefs. */
static void describe(int tracing, const char *file, char text[static FORMAT])
{
    const int fd = openat(tracing, file, O_RDONLY | O_CLOEXEC);
    const ssize_t size = fd < 0 ? -1 : read(fd, text, FORMAT - 1);
    if (size <= 0)
        fail(EX_UNAVAILABLE, file);
    text[size] = '\0';
    close(fd);
}

static uint64_t find_event(void)
{
    char text[FORMAT];
    const int tracing = tracing_open();
    describe(tracing, "events/sched/sched_switch/format", text);
    const char *field = strstr(text, " prev_prio;");
    if (field == NULL || sscanf(field, " prev_prio; offset:%u;", &priority_at) != 1)
        fail(EX_UNAVAILABLE, "sched_switch has no prev_prio");
    describe(tracing, "events/sched/sched_switch/id", text);
    close(tracing);
    return strtoull(text, NULL, 10);
}

static int open_event(const struct perf_event_attr *event, int group, int cpu, int leader)
{
    const int fd = (int)syscall(SYS_perf_event_open, event, group, cpu, leader,
                                PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        fail(EX_OSERR, "the group cannot be counted");
    return fd;
}

static void open_cpu(struct cpu *one, int group, int cpu, uint64_t event)
{
    const struct perf_event_attr clock = {.type = PERF_TYPE_SOFTWARE,
                                          .size = sizeof clock,
                                          .config = PERF_COUNT_SW_CPU_CLOCK,
                                          .read_format = PERF_FORMAT_GROUP,
                                          .use_clockid = 1,
                                          .clockid = CLOCK_MONOTONIC,
                                          .disabled = 1},
                                 switches = {.type = PERF_TYPE_TRACEPOINT,
                                             .size = sizeof switches,
                                             .config = event,
                                             .sample_period = 1,
                                             .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_READ |
                                                            PERF_SAMPLE_RAW,
                                             .read_format = PERF_FORMAT_GROUP,
                                             .use_clockid = 1,
                                             .clockid = CLOCK_MONOTONIC};
    one->clock = open_event(&clock, group, cpu, -1);
    one->switches = open_event(&switches, group, cpu, one->clock);
    one->page = mmap(NULL, page_bytes * (1 + RING_PAGES), PROT_READ | PROT_WRITE, MAP_SHARED,
                     one->switches, 0);
    if (one->page == MAP_FAILED)
        fail(EX_OSERR, "mmap");
}

/* ---- the records ---- */

/* Adds a member's time on a CPU to the periods in which it lies. */
static void add_time(struct periods *periods, int64_t from, int64_t to)
{
    for (int i = 0; i < periods->count; i++) {
        const int64_t begin = periods->begin + i * periods->length, end = begin + periods->length;
        const int64_t first = from > begin ? from : begin, last = to < end ? to : end;
        if (first < last)
            periods->used[i] += last - first;
    }
}

static void take_record(struct cpu *cpu, const unsigned char *record, struct periods *periods)
{
    const struct sample *sample = (const struct sample *)(const void *)record;
    int priority;
    if (sample->header.type == PERF_RECORD_LOST) {
        fprintf(stderr, "group-times: the kernel had no room for all records\n");
        exit(EX_SOFTWARE);
    }
    if (sample->header.type != PERF_RECORD_SAMPLE)
        return;
    memcpy(&priority, sample->raw + priority_at, sizeof priority);
    if (priority <= LOWEST_REAL_TIME)
        add_time(periods, sample->time - (sample->clock - cpu->counted), sample->time);
    cpu->counted = sample->clock;
}

static void drain(struct cpu *cpu, struct periods *periods)
{
    _Alignas(struct sample) unsigned char record[RECORD_MAX];
    const size_t bytes = RING_PAGES * page_bytes;
    const unsigned char *data = (const unsigned char *)cpu->page + page_bytes;
    const uint64_t head = __atomic_load_n(&cpu->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = cpu->page->data_tail;
    while (tail < head) {
        struct perf_event_header header;
        for (size_t i = 0; i < sizeof record; i++)
            record[i] = data[(tail + i) % bytes];
        memcpy(&header, record, sizeof header);
        take_record(cpu, record, periods);
        tail += header.size;
    }
    __atomic_store_n(&cpu->page->data_tail, head, __ATOMIC_RELEASE);
}

static void sleep_until(int64_t when)
{
    const struct timespec time = {.tv_sec = when / 1000000000, .tv_nsec = when % 1000000000};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

/* A member that has a CPU when the last period ends leaves the CPU within one more. */
static void measure(struct periods *periods)
{
    for (int cpu = 0; cpu < cpu_count; cpu++)
        if (ioctl(cpus[cpu].clock, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) != 0)
            fail(EX_OSERR, "the group cannot be counted");
    periods->begin = monotonic_now() + periods->length;
    for (int i = -1; i <= periods->count; i++) {
        sleep_until(periods->begin + (i + 1) * periods->length);
        for (int cpu = 0; cpu < cpu_count; cpu++)
            drain(&cpus[cpu], periods);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return EX_USAGE;
    const int group = budget_group_open(budget_hierarchy_open(), argv[1]);
    const int64_t runtime = atoll(argv[2]), most = runtime + (int64_t)tick_length();
    struct periods periods = {.length = atoll(argv[3]) * 1000, .count = atoi(argv[4])};
    const uint64_t event = find_event();
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    cpu_count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    periods.used = calloc((size_t)periods.count, sizeof *periods.used);
    for (int cpu = 0; cpu < cpu_count && cpu < CPUS; cpu++)
        open_cpu(&cpus[cpu], group, cpu, event);
    const struct sched_param param = {.sched_priority = OWN_PRIORITY};
    if (sched_setscheduler(0, SCHED_FIFO, &param) != 0)
        fail(EX_OSERR, "sched_setscheduler");
    measure(&periods);
    for (int i = 0; i < periods.count; i++)
        printf("%lld %lld\n", (long long)periods.used[i] / 1000, (long long)most);
    return EX_OK;
}
