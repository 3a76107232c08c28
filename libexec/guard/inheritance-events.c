#include "inheritance-events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { RING_PAGES = 16, CPUS_MAX = 1024, RECORD_MAX = 512 };

static struct ring {
    int fd;
    struct perf_event_mmap_page *page;
} rings[CPUS_MAX];
static int ring_count, epoll_fd = -1;
static uint64_t source;
static unsigned pid_at, old_at, new_at; /* offsets of the fields in a record, bytes */
static size_t page_bytes;
static bool lost;

struct sample {
    struct perf_event_header header;
    uint32_t process, thread;
    uint64_t time;
    uint32_t raw_size;
    unsigned char raw[];
};

static int number_at(const unsigned char *raw, size_t size, unsigned offset)
{
    int number = 0;
    if (offset + sizeof number <= size)
        memcpy(&number, raw + offset, sizeof number);
    return number;
}

static void take_record(const unsigned char *record, size_t size,
                        void (*take)(const struct priority_change *))
{
    const struct sample *sample = (const struct sample *)(const void *)record;
    /* Not sizeof, which includes padding: in Linux 6.1 newprio is the last field. */
    const size_t before_raw = offsetof(struct sample, raw);
    if (sample->header.type != PERF_RECORD_SAMPLE || size < before_raw)
        return;
    const size_t raw = sample->raw_size < size - before_raw ? sample->raw_size : size - before_raw;
    take(&(struct priority_change){.tid = number_at(sample->raw, raw, pid_at),
                                   .caller = (pid_t)sample->thread,
                                   .before = number_at(sample->raw, raw, old_at),
                                   .after = number_at(sample->raw, raw, new_at),
                                   .time = (int64_t)sample->time});
}

/* Copies from a ring; a record may wrap around its end. */
static void copy_out(const struct ring *ring, uint64_t from, unsigned char *into, size_t size)
{
    const size_t bytes = RING_PAGES * page_bytes;
    const unsigned char *data = (const unsigned char *)ring->page + page_bytes;
    for (size_t i = 0; i < size; i++)
        into[i] = data[(from + i) % bytes];
}

/* The kernel writes PERF_RECORD_LOST together with the next record that fits, which may never
 * come. So a ring without room for one more record counts as lost, too. */
static bool drain(const struct ring *ring, void (*take)(const struct priority_change *))
{
    _Alignas(struct sample) unsigned char record[RECORD_MAX];
    struct perf_event_header header;
    const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    const bool some = head != ring->page->data_tail;
    lost |= head - ring->page->data_tail + sizeof record > RING_PAGES * page_bytes;
    while (ring->page->data_tail < head) {
        const uint64_t tail = ring->page->data_tail;
        copy_out(ring, tail, (unsigned char *)&header, sizeof header);
        if (header.size < sizeof header) {
            __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
            break;
        }
        const size_t size = header.size < sizeof record ? header.size : sizeof record;
        lost |= header.type == PERF_RECORD_LOST;
        copy_out(ring, tail, record, size);
        /* The record counts as read before `take` sees it: `take` may read the ring, too, and no
         * record may be taken twice. */
        __atomic_store_n(&ring->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
        take_record(record, size, take);
    }
    return some;
}

bool inheritance_events_drain(void (*take)(const struct priority_change *))
{
    bool some = false;
    for (int i = 0; i < ring_count; i++)
        some |= drain(&rings[i], take);
    return some;
}

bool inheritance_events_lost(void)
{
    const bool were_lost = lost;
    lost = false;
    return were_lost;
}

/* With on = false, removes the descriptors from the epoll set, because an entry with an empty event
 * mask still wakes the guard. */
void inheritance_events_listen(bool on)
{
    struct epoll_event wanted = {.events = EPOLLIN, .data.u64 = source};
    for (int i = 0; i < ring_count; i++)
        (void)epoll_ctl(epoll_fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, rings[i].fd, &wanted);
}

/* ---- set-up ---- */

static bool open_ring(const struct perf_event_attr *event, int cpu)
{
    /* Reports only changes to or from a real-time priority, because the guard ignores other
     * boosts. */
    static const char filter[] = "newprio < 100 || oldprio < 100";
    struct ring *ring = &rings[ring_count];
    struct epoll_event wanted = {.events = EPOLLIN, .data.u64 = source};
    ring->fd = (int)syscall(SYS_perf_event_open, event, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (ring->fd < 0)
        return errno == ENODEV || errno == EINVAL; /* no such CPU, or an offline CPU */
    ring->page =
        mmap(NULL, page_bytes * (1 + RING_PAGES), PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    ring_count++;
    return ring->page != MAP_FAILED && ioctl(ring->fd, PERF_EVENT_IOC_SET_FILTER, filter) == 0 &&
           epoll_ctl(epoll_fd, EPOLL_CTL_ADD, ring->fd, &wanted) == 0 &&
           ioctl(ring->fd, PERF_EVENT_IOC_ENABLE, 0) == 0;
}

static bool is_preempt_rt;

bool inheritance_events_may_fail(void)
{
    return is_preempt_rt;
}

bool inheritance_events_open(const char *tracepoint, int epoll, uint64_t as)
{
    struct utsname kernel;
    unsigned long long id;
    is_preempt_rt = uname(&kernel) == 0 && strstr(kernel.version, "PREEMPT_RT") != NULL;
    if (sscanf(tracepoint, "%llu:%u:%u:%u", &id, &pid_at, &old_at, &new_at) != 4) {
        errno = EINVAL;
        return false;
    }
    const struct perf_event_attr event = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof event,
        .config = id,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
        .watermark = 1, /* each record wakes the guard */
        .wakeup_watermark = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .disabled = 1,
    };
    epoll_fd = epoll;
    source = as;
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < cpus && cpu < CPUS_MAX; cpu++)
        if (!open_ring(&event, cpu))
            return false;
    return ring_count > 0;
}
