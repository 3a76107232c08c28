#include "attachments.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach.h"
#include "given-extras.h"
#include "guard.h"
#include "placement.h"
#include "memory.h"
#include "shares.h"
#include "traces.h"

static struct {
    struct attachment *by_tid; /* the head of the hash table, by thread id */
    /* the threads that do not lead their process, by process */
    RB_HEAD(process_tree, attachment) followers;
    const struct attachment_calls *calls;
    /* attachments that are freed at the end of the turn */
    struct attachment *ended[LOOP_EVENTS * 4];
    int ended_count;
} attached;

static int by_process(const struct attachment *one, const struct attachment *other)
{
    return one->process != other->process ? (one->process < other->process ? -1 : 1)
           : one->tid < other->tid        ? -1
                                          : one->tid > other->tid;
}

RB_PROTOTYPE(process_tree, attachment, of_process, by_process)
RB_GENERATE(process_tree, attachment, of_process, by_process)

void attachments_prepare(const struct attachment_calls *whom)
{
    attached.calls = whom;
}

bool attachment_is_to_be_applied(const struct attachment *attachment)
{
    return attachment->state == ATTACHMENT_AWAKE || attachment->state == ATTACHMENT_ASTRAY;
}

struct attachment *attachment_find(pid_t tid)
{
    struct attachment *attachment;
    HASH_FIND(hh, attached.by_tid, &tid, sizeof tid, attachment);
    return attachment;
}

unsigned attachments_count(void)
{
    return HASH_COUNT(attached.by_tid);
}

struct attachment *attachment_new(struct reservation *reservation, const struct identity *identity,
                                  int pidfd, bool by_file, const struct attributes *former)
{
    struct attachment *attachment = allocate(sizeof *attachment);
    *attachment = (struct attachment){.source = {attached.calls->ended, true},
                                      .reservation = reservation,
                                      .tid = identity->tid,
                                      .process = identity->process,
                                      .started_by = identity->started_by,
                                      .pidfd = pidfd,
                                      .by_file = by_file,
                                      .former = *former,
                                      .former_ioprio = -1,
                                      .watch = -1,
                                      .watch_source = {attached.calls->watched, true},
                                      .to_watch.due = attached.calls->to_watch,
                                      .doubt.due = attached.calls->doubt};
    return attachment;
}

/* ns: the time from the attachment of a thread until it gets its watch. A thread that ends before
 * needs no watch. Many attachments in a row need not wait for watches, because each watch costs the
 * kernel a perf event, two pages and 20 us. */
static const int64_t watch_pause = INT64_C(10000000);

void attachment_watch_soon(struct attachment *attachment)
{
    const bool leads = attachment->tid == attachment->process;
    if (attachment->to_watch.at != 0 ||
        (attachment->watch >= 0 && (leads || !attachment->watch_once)))
        /* the thread has a watch or is about to get one; each kind of watch reports the end of the
         * first thread of a process */
        return;
    timer_set(&attachment->to_watch, monotonic_now() + watch_pause);
}

/* PERF_RECORD_EXIT of include/uapi/linux/perf_event.h, without sample_id. */
struct exit_record {
    struct perf_event_header header;
    uint32_t process, parent, tid, parent_tid;
    uint64_t time;
};

/* True: the last record of the watch is an exit record with the thread's own id. So the thread
 * ended without an execve(2): after an execve(2), the exit record has the id of the process's first
 * thread. An exit record alone does not show how the thread ended: the kernel also writes one, with
 * the first thread's id, if the thread calls execve(2) with a program that the owner may not
 * trace. */
static bool has_died_as_watched(const struct attachment *attachment)
{
    struct pollfd one = {.fd = attachment->watch, .events = POLLIN};
    /* the bytes of the ring buffer, which is the second half of the mapping; the first half is its
     * head */
    const size_t size = attachment->watch_bytes / 2;
    struct exit_record last;
    if (attachment->tid == attachment->process || attachment->watch < 0 || attachment->watch_once ||
        poll(&one, 1, 0) != 1 || (one.revents & POLLHUP) == 0)
        return false;
    const uint64_t head =
        __atomic_load_n(&((const struct perf_event_mmap_page *)attachment->watch_page)->data_head,
                        __ATOMIC_ACQUIRE);
    const char *ring = (const char *)attachment->watch_page + size;
    if (head < sizeof last)
        return false;
    for (size_t i = 0; i < sizeof last; i++)
        ((char *)&last)[i] = ring[(head - sizeof last + i) % size];
    return last.header.type == PERF_RECORD_EXIT && last.header.size == sizeof last &&
           last.tid == (uint32_t)attachment->tid;
}

bool attachment_has_died(const struct attachment *attachment)
{
    return attachment->died || has_died_as_watched(attachment);
}

void attachment_drop_watch(struct attachment *attachment)
{
    if (attachment->watch < 0)
        return;
    attachment->died |= has_died_as_watched(attachment);
    loop_remove(attachment->watch);
    (void)munmap(attachment->watch_page, attachment->watch_bytes);
    close(attachment->watch);
    attachment->watch = -1;
}

bool attachment_keep_watch(struct attachment *attachment, int watch, bool armed)
{
    attachment_drop_watch(attachment);
    attachment->watch_bytes = (size_t)sysconf(_SC_PAGESIZE) * 2;
    /* Because the mapping is read-only, the kernel overwrites unread records, and wakes the broker
     * for each record. */
    attachment->watch_page =
        watch < 0 ? MAP_FAILED
                  : mmap(NULL, attachment->watch_bytes, PROT_READ, MAP_SHARED, watch, 0);
    if (attachment->watch_page == MAP_FAILED) {
        if (watch >= 0)
            close(watch);
        return false;
    }
    attachment->watch = watch;
    attachment->watch_once = armed;
    return loop_add(watch, EPOLLIN, &attachment->watch_source) &&
           (!armed || ioctl(watch, PERF_EVENT_IOC_ENABLE, 0) == 0);
}

bool attachment_is_over(const struct attachment *attachment)
{
    return attachment->pidfd < 0 || thread_has_ended(attachment->pidfd) ||
           (attachment->tid != attachment->process &&
            !thread_is(attachment->tid, attachment->started_by) && errno == ESRCH);
}

struct attachment *attachment_over_in(pid_t process)
{
    struct attachment least = {.process = process},
                      *attachment = RB_NFIND(process_tree, &attached.followers, &least);
    while (attachment != NULL && attachment->process == process && !attachment_is_over(attachment))
        attachment = RB_NEXT(process_tree, &attached.followers, attachment);
    return attachment != NULL && attachment->process == process ? attachment : NULL;
}

const struct attachment *attachment_within(pid_t process,
                                           bool (*is_wanted)(const struct reservation *))
{
    struct attachment least = {.process = process},
                      *attachment = RB_NFIND(process_tree, &attached.followers, &least);
    while (attachment != NULL && attachment->process == process &&
           (attachment_is_over(attachment) || !is_wanted(attachment->reservation)))
        attachment = RB_NEXT(process_tree, &attached.followers, attachment);
    return attachment != NULL && attachment->process == process ? attachment : NULL;
}

void attachment_watch_told(struct attachment *attachment)
{
    if (attachment->watch >= 0 && attachment->watch_once)
        (void)ioctl(attachment->watch, PERF_EVENT_IOC_DISABLE, 0);
}

bool attachment_watch(struct attachment *attachment)
{
    struct attachment *other = attachment_find(attachment->tid);
    errno = EBUSY; /* another reservation has the thread */
    if (other != NULL)
        return other == attachment;
    HASH_ADD(hh, attached.by_tid, tid, sizeof attachment->tid, attachment);
    if (attachment->tid != attachment->process)
        RB_INSERT(process_tree, &attached.followers, attachment);
    return loop_add(attachment->pidfd, EPOLLIN, &attachment->source);
}

void attachment_bury(struct attachment *attachment)
{
    guard_end(attachment, attachment->whole);
    if (attachment->pidfd >= 0) {
        /* loop_remove comes first, because close(2) alone could leave the pidfd in the loop: a
         * child between fork and exec has the pidfd open, too */
        loop_remove(attachment->pidfd);
        close(attachment->pidfd);
    }
    attachment->pidfd = -1;
    attachment_drop_watch(attachment);
    timer_end(&attachment->to_watch);
    timer_end(&attachment->doubt);
    placement_expect(&attachment->presence, NULL);
    attachment->reservation = NULL;
    /* if the array is full, the attachment is never freed, because an event of this turn may point
     * to it */
    if (attached.ended_count < (int)(sizeof attached.ended / sizeof *attached.ended))
        attached.ended[attached.ended_count++] = attachment;
}

void attachments_sweep(void)
{
    while (attached.ended_count > 0) {
        free(attached.ended[--attached.ended_count]->group);
        free(attached.ended[attached.ended_count]);
    }
}

void attachment_end(struct reservation *reservation)
{
    struct attachment *attachment = reservation->attachment;
    if (attachment == NULL)
        return;
    if (attachment_find(attachment->tid) == attachment) {
        HASH_DEL(attached.by_tid, attachment);
        if (attachment->tid != attachment->process)
            RB_REMOVE(process_tree, &attached.followers, attachment);
    }
    traces_leave(attachment->tid);
    shares_unbind(attachment);
    (void)extras_take_back(attachment);
    reservation->attachment = NULL;
    /* children of the thread may still be in the scheduling domain, or in the real-time group, of
     * the thread */
    if (attachment->group != NULL || attachment->whole)
        (void)attach_sweep(attachment);
    attachment_bury(attachment);
}
