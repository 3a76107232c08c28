/* The ring buffer of one thread's marks. The thread writes without a system call, and another
 * process drains the ring. The thread never waits: if the ring is full, the thread drops its marks.
 * The gap in the jobs' numbers shows the dropped marks. */
#ifndef RTF_MUSE_RING_H
#define RTF_MUSE_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mark.h"

enum { RING_MARKS = 1 << 16 }; /* enough for six seconds at 10,000 jobs per second */

struct ring {
    /* number of marks put into the ring; only the thread writes it */
    alignas(64) _Atomic uint64_t head;
    uint64_t seen_tail;
    /* number of marks taken out of the ring; only the draining process writes it */
    alignas(64) _Atomic uint64_t tail;
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

/* Touches all pages of the ring. The thread calls this before its first mark, because otherwise the
 * first touch of a page would count as a job's time. The first touch takes time if memory is not
 * locked (a page fault). In a virtual machine it takes time even with locked memory, because
 * locking does not fill the hypervisor's page table. */
static inline void ring_touch(struct ring *ring)
{
    enum { SMALLEST_PAGE = 4096 };
    volatile struct mark *at = ring->at;
    for (uint64_t i = 0; i < RING_MARKS; i += SMALLEST_PAGE / sizeof *at)
        at[i].job = 0;
    /* touches the last page, too, because the ring need not begin at a page boundary */
    at[RING_MARKS - 1].job = 0;
}

/* Finds the oldest marks in the ring. Returns how many marks lie in one piece from *marks on; 0:
 * the ring is empty. ring_took removes these marks from the ring. */
static inline uint64_t ring_look(const struct ring *ring, const struct mark **marks)
{
    const uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed),
                   head = atomic_load_explicit(&ring->head, memory_order_acquire);
    const uint64_t piece = RING_MARKS - tail % RING_MARKS, waiting = head - tail;
    *marks = &ring->at[tail % RING_MARKS];
    return waiting < piece ? waiting : piece;
}

static inline void ring_took(struct ring *ring, uint64_t marks)
{
    atomic_store_explicit(&ring->tail,
                          atomic_load_explicit(&ring->tail, memory_order_relaxed) + marks,
                          memory_order_release);
}

#endif
