#include "switches.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A record of a switch has 24 bytes, so this buffer has room for 1365 records. All buffers of a
 * user together may have 512 KiB for each CPU (kernel.perf_event_mlock_kb). */
enum { PAGES = 8, BYTES_OF_A_BURST = 48 };

struct switches {
    int fd;
    struct perf_event_mmap_page *page;
    const char *data;
    size_t size, length; /* size: the bytes of `data`; length: the bytes of the whole mapping */
};

/* The form of the records of switches and of lost records, with the fields that sample_type asks
 * for. */
struct record {
    struct perf_event_header header;
    uint32_t process, thread;
    uint64_t time;
};

static int open_event(pid_t tid)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
                                   .exclude_kernel = 1,
                                   .sample_id_all = 1,
                                   .context_switch = 1,
                                   .use_clockid = 1,
                                   .clockid = CLOCK_MONOTONIC,
                                   .watermark = 1,
                                   .wakeup_watermark = BYTES_OF_A_BURST};
    return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

struct switches *switches_open(pid_t tid)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct switches *switches = calloc(1, sizeof *switches);
    if (switches == NULL)
        return NULL;
    switches->size = PAGES * page;
    switches->length = switches->size + page;
    switches->fd = open_event(tid);
    void *map = switches->fd < 0 ? MAP_FAILED
                                 : mmap(NULL, switches->length, PROT_READ | PROT_WRITE, MAP_SHARED,
                                        switches->fd, 0);
    if (map == MAP_FAILED) {
        const int error = errno;
        if (switches->fd >= 0)
            close(switches->fd);
        free(switches);
        errno = error;
        return NULL;
    }
    switches->page = map;
    switches->data = (const char *)map + page;
    return switches;
}

int switches_descriptor(const struct switches *switches)
{
    return switches->fd;
}

void switches_pause(struct switches *switches)
{
    (void)ioctl(switches->fd, PERF_EVENT_IOC_DISABLE, 0);
}

void switches_resume(struct switches *switches)
{
    (void)ioctl(switches->fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* Copies bytes out of the ring. A record may begin at the end of the ring and go on at its
 * beginning. */
static void copy(const struct switches *switches, uint64_t position, void *to, size_t length)
{
    const size_t at = (size_t)(position % switches->size);
    const size_t first = length < switches->size - at ? length : switches->size - at;
    memcpy(to, switches->data + at, first);
    memcpy((char *)to + first, switches->data, length - first);
}

static void take(const struct record *record, struct bursts *bursts)
{
    const uint16_t kind = record->header.misc;
    if (record->header.type == PERF_RECORD_LOST)
        bursts_lose(bursts);
    else if (record->header.type != PERF_RECORD_SWITCH)
        return;
    else if ((kind & PERF_RECORD_MISC_SWITCH_OUT) != 0)
        bursts_out(bursts, (int64_t)record->time,
                   (kind & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) == 0);
    else
        bursts_in(bursts, (int64_t)record->time);
}

bool switches_take(struct switches *switches, struct bursts *bursts)
{
    struct record record;
    bool is_whole = true;
    _Atomic __u64 *head = (_Atomic __u64 *)&switches->page->data_head,
                  *tail = (_Atomic __u64 *)&switches->page->data_tail;
    const uint64_t end = atomic_load_explicit(head, memory_order_acquire);
    uint64_t at = atomic_load_explicit(tail, memory_order_relaxed);
    while (at < end) {
        copy(switches, at, &record.header, sizeof record.header);
        if (record.header.size < sizeof record.header)
            break;
        copy(switches, at, &record,
             record.header.size < sizeof record ? record.header.size : sizeof record);
        take(&record, bursts);
        is_whole = is_whole && record.header.type != PERF_RECORD_LOST;
        at += record.header.size;
    }
    atomic_store_explicit(tail, end, memory_order_release);
    return is_whole;
}

void switches_close(struct switches *switches)
{
    if (switches == NULL)
        return;
    munmap(switches->page, switches->length);
    close(switches->fd);
    free(switches);
}
