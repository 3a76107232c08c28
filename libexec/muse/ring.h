/* A thread's marks on their way: written by the thread without a system call, drained by another process. If that comes too late, marks are
 * dropped, never waited for: the gap in the jobs' numbers tells. */
#ifndef RTF_MUSE_RING_H
#define RTF_MUSE_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mark.h"

enum { RING_MARKS = 1 << 16 }; /* six seconds of 10,000 jobs a second */

struct ring {
    alignas(64) _Atomic uint64_t head; /* the thread's */
    uint64_t seen_tail;
    alignas(64) _Atomic uint64_t tail; /* the drain's */
    alignas(64) struct mark at[RING_MARKS];
};

static inline bool ring_put(struct ring *ring, struct mark mark)
{
    const uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    if (head - ring->seen_tail == RING_MARKS) {
        ring->seen_tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (head - ring->seen_tail == RING_MARKS)
            return false;
    }
    ring->at[head % RING_MARKS] = mark;
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return true;
}

/* By the thread, before its first mark. A page's first touch would be a job's time: a fault where memory is not locked, and in a virtual machine
 * also where it is, for the hypervisor has a table of its own, which locking does not fill. */
static inline void ring_touch(struct ring *ring)
{
    enum { SMALLEST_PAGE = 4096 };
    volatile struct mark *at = ring->at;
    for (uint64_t i = 0; i < RING_MARKS; i += SMALLEST_PAGE / sizeof *at)
        at[i].job = 0;
    at[RING_MARKS - 1].job = 0; /* they need not begin at a page */
}

/* The marks that lie there in one piece; 0: none. They are gone after ring_took. */
static inline uint64_t ring_look(const struct ring *ring, const struct mark **marks)
{
    const uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed), head = atomic_load_explicit(&ring->head, memory_order_acquire);
    const uint64_t piece = RING_MARKS - tail % RING_MARKS, waiting = head - tail;
    *marks = &ring->at[tail % RING_MARKS];
    return waiting < piece ? waiting : piece;
}

static inline void ring_took(struct ring *ring, uint64_t marks)
{
    atomic_store_explicit(&ring->tail, atomic_load_explicit(&ring->tail, memory_order_relaxed) + marks, memory_order_release);
}

#endif
