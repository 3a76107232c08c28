#include "scrub.h"

#include <stdlib.h>

enum { IDLE_PRIORITY = 120, TIMER_BITS = 8 };

static int compare(const void *one, const void *two)
{
    const struct scrub_thread *a = one, *b = two;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

void scrub_sort(struct scrub *scrub)
{
    if (scrub->count > 0)
        qsort(scrub->threads, scrub->count, sizeof *scrub->threads, compare);
}

struct scrub_thread *scrub_find(const struct scrub *scrub, pid_t tid)
{
    const struct scrub_thread key = {.tid = tid};
    struct scrub_thread *thread =
        tid <= 0 || scrub->count == 0
            ? NULL
            : bsearch(&key, scrub->threads, scrub->count, sizeof key, compare);
    return thread == NULL || thread->is_gone ? NULL : thread;
}

/* A number in the place of the timer's address, which would tell where the kernel's memory is. */
static uint64_t timer_number(const struct scrub_thread *thread, int timer)
{
    return (uint64_t)thread->tid << TIMER_BITS | (uint64_t)(timer + 1);
}

static bool take_switch(const struct scrub *scrub, const struct record *record, struct record *seen)
{
    struct scrub_thread *leaves = scrub_find(scrub, record->thread);
    const struct scrub_thread *enters = scrub_find(scrub, record->next);
    if (leaves == NULL && enters == NULL)
        return false;
    seen->priority = seen->next_priority = IDLE_PRIORITY;
    if (leaves != NULL) {
        seen->thread = record->thread;
        seen->state = record->state;
        seen->priority = record->priority;
    }
    if (enters != NULL) {
        seen->next = record->next;
        seen->next_priority = record->next_priority;
    }
    if (leaves != NULL && (record->state & STATE_ENDED) != 0)
        leaves->is_gone = true;
    return true;
}

static bool take_throttle(const struct scrub *scrub, const struct record *record,
                          struct record *seen)
{
    struct scrub_thread *thread = scrub_find(scrub, record->thread);
    int timer = 0;
    if (thread == NULL)
        return false;
    while (timer < SCRUB_TIMERS && thread->timers[timer].address != 0 &&
           thread->timers[timer].address != record->timer)
        timer++;
    if (timer == SCRUB_TIMERS)
        return false;
    thread->timers[timer].address = record->timer;
    thread->timers[timer].expires = record->expires;
    seen->thread = record->thread;
    seen->timer = timer_number(thread, timer);
    seen->expires = record->expires;
    return true;
}

/* A timer may belong to another thread, or to a CPU: of each start in the context of an own thread,
 * whose record has the time of its end, one end may be seen. */
static bool take_replenish(const struct scrub *scrub, const struct record *record,
                           struct record *seen)
{
    for (size_t i = 0; i < scrub->count; i++)
        for (int timer = 0; timer < SCRUB_TIMERS; timer++) {
            struct scrub_thread *thread = &scrub->threads[i];
            if (thread->is_gone || thread->timers[timer].address != record->timer ||
                thread->timers[timer].expires == 0 || record->time < thread->timers[timer].expires)
                continue;
            thread->timers[timer].expires = 0;
            seen->timer = timer_number(thread, timer);
            return true;
        }
    return false;
}

bool scrub_take(const struct scrub *scrub, const struct record *record, struct record *seen)
{
    *seen = (struct record){.time = record->time, .kind = record->kind, .cpu = record->cpu};
    switch ((enum record_kind)record->kind) {
    case RECORD_SWITCH: return take_switch(scrub, record, seen);
    case RECORD_THROTTLE: return take_throttle(scrub, record, seen);
    case RECORD_REPLENISH: return take_replenish(scrub, record, seen);
    case RECORD_WAKING:
    case RECORD_MIGRATE:
        seen->thread = record->thread;
        seen->to_cpu = record->to_cpu;
        return scrub_find(scrub, record->thread) != NULL;
    }
    return false;
}
