#include "task-records.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* CPUS_MAX: as in libexec/guard/inheritance-events.c. TAKEN_MAX: the most wanted records that one
 * call takes; further records count as lost. */
enum { RING_PAGES = 32, CPUS_MAX = 1024, RECORD_MAX = 128, TAKEN_MAX = 8192 };

static struct {
    struct ring {
        int fd;
        struct perf_event_mmap_page *page;
    } ring[CPUS_MAX];
    int count;
    size_t page_bytes;
    bool lost;
    struct task_record taken[TAKEN_MAX];
    int taken_count;
} records;

static bool open_ring(const struct perf_event_attr *event, int cpu)
{
    struct ring *ring = &records.ring[records.count];
    ring->fd = (int)syscall(SYS_perf_event_open, event, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (ring->fd < 0)
        return errno == ENODEV || errno == EINVAL; /* no such CPU, or an offline CPU */
    ring->page = mmap(NULL, records.page_bytes * (1 + RING_PAGES), PROT_READ | PROT_WRITE,
                      MAP_SHARED, ring->fd, 0);
    if (ring->page == MAP_FAILED) {
        const int error = errno;
        close(ring->fd);
        errno = error;
        return false;
    }
    records.count++;
    return true;
}

bool task_records_open(void)
{
    const struct perf_event_attr event = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof event,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TIME, /* the last 8 bytes of each record */
        .sample_id_all = 1,
        .task = 1,
        .comm = 1,
        .comm_exec = 1,
        .watermark = 1, /* each record wakes the helper, if it waits */
        .wakeup_watermark = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    if (records.count > 0)
        return true;
    records.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (int cpu = 0; cpu < cpus && cpu < CPUS_MAX; cpu++)
        if (!open_ring(&event, cpu)) {
            const int error = errno;
            task_records_close();
            errno = error;
            return false;
        }
    return records.count > 0;
}

void task_records_close(void)
{
    for (int i = 0; i < records.count; i++) {
        munmap(records.ring[i].page, records.page_bytes * (1 + RING_PAGES));
        close(records.ring[i].fd);
    }
    records.count = 0;
    records.lost = false;
}

int task_records_poll(struct pollfd *wanted, int size)
{
    int count = 0;
    for (; count < records.count && count < size; count++)
        wanted[count] = (struct pollfd){.fd = records.ring[count].fd, .events = POLLIN};
    return count;
}

/* Copies a part of a record, which may wrap around the end of its ring. */
static void copy_out(const struct ring *ring, uint64_t from, unsigned char *into, size_t size)
{
    const size_t bytes = RING_PAGES * records.page_bytes, at = from % bytes,
                 first = size < bytes - at ? size : bytes - at;
    const unsigned char *data = (const unsigned char *)ring->page + records.page_bytes;
    memcpy(into, data + at, first);
    memcpy(into + first, data, size - first);
}

/* As in include/uapi/linux/perf_event.h. A record of a name has pid and tid only. */
struct kernel_record {
    struct perf_event_header header;
    uint32_t pid, ppid_or_tid, tid, ptid;
};

static bool parse(const unsigned char *bytes, size_t size, struct task_record *record)
{
    struct kernel_record kernel;
    if (size < sizeof kernel + sizeof record->time)
        return false;
    memcpy(&kernel, bytes, sizeof kernel);
    memcpy(&record->time, bytes + size - sizeof record->time, sizeof record->time);
    record->process = (pid_t)kernel.pid;
    record->tid = (pid_t)kernel.tid;
    record->parent = (pid_t)kernel.ppid_or_tid;
    if (kernel.header.type == PERF_RECORD_COMM) {
        record->tid = (pid_t)kernel.ppid_or_tid;
        record->what =
            (kernel.header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0 ? TASK_EXECED : TASK_NAMED;
    } else if (kernel.header.type == PERF_RECORD_FORK)
        record->what = TASK_FORKED;
    else if (kernel.header.type == PERF_RECORD_EXIT)
        record->what = TASK_ENDED;
    else
        return false;
    return true;
}

static void keep(const struct task_record *record)
{
    if (records.taken_count < TAKEN_MAX)
        records.taken[records.taken_count++] = *record;
    else
        records.lost = true;
}

/* Takes the wanted records out of a ring. The kernel writes PERF_RECORD_LOST together with the next
 * record that fits, which may never come. So a ring without room for one more record counts as
 * lost, too. */
static void drain(const struct ring *ring, bool (*is_wanted)(const struct task_record *record))
{
    _Alignas(8) unsigned char bytes[RECORD_MAX];
    struct perf_event_header header;
    struct task_record record;
    const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = ring->page->data_tail;
    records.lost |= head - tail + sizeof bytes > RING_PAGES * records.page_bytes;
    while (tail < head) {
        copy_out(ring, tail, (unsigned char *)&header, sizeof header);
        if (header.size < sizeof header)
            break;
        records.lost |= header.type == PERF_RECORD_LOST || header.size > sizeof bytes;
        if (header.size <= sizeof bytes) {
            copy_out(ring, tail, bytes, header.size);
            if (parse(bytes, header.size, &record) && is_wanted(&record))
                keep(&record);
        }
        tail += header.size;
    }
    __atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
}

static int by_time(const void *one, const void *other)
{
    const struct task_record *a = one, *b = other;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* Takes the records of all rings, and sorts them by time. The order matters when a thread id is
 * used again: the end of the old thread on one CPU must come before the fork of the new thread on
 * another CPU. A call that takes the later record takes the earlier record, too. */
bool task_records_take(int *count, bool (*is_wanted)(const struct task_record *record),
                       void (*take)(const struct task_record *record))
{
    records.taken_count = 0;
    for (int i = 0; i < records.count; i++)
        drain(&records.ring[i], is_wanted);
    if (records.taken_count > 1)
        qsort(records.taken, (size_t)records.taken_count, sizeof *records.taken, by_time);
    for (int i = 0; i < records.taken_count; i++)
        take(&records.taken[i]);
    *count = records.taken_count;
    const bool whole = !records.lost;
    records.lost = false;
    return whole;
}
