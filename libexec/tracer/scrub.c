#include "scrub.h"

#include <stdlib.h>

#include "watch/call-kinds.h"

enum { IDLE_PRIORITY = 120, ORDINARY = 100, TIMER_BITS = 8 };

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

/* Returns a number that replaces the timer's address, because the address would tell where the
 * kernel's memory is. */
static uint64_t timer_number(const struct scrub_thread *thread, int timer)
{
    return (uint64_t)thread->tid << TIMER_BITS | (uint64_t)(timer + 1);
}

/* Tells which threads had the CPU while a real-time thread waited. Tells nothing about the wait of
 * an ordinary thread, because all kinds of threads run before it. */
static void tell_wait(const struct scrub *scrub, struct scrub_thread *thread,
                      const struct record *record, struct record *seen)
{
    if (scrub->occupancy != NULL && thread->ready_since != 0 && record->next_priority < ORDINARY) {
        const struct occupancy_wait wait =
            occupancy_explain(scrub->occupancy, record, thread->ready_since);
        seen->wait = (uint8_t)wait.kind;
        seen->others = wait.others;
    }
    thread->ready_since = 0;
    thread->is_asleep = false;
}

static bool take_switch(const struct scrub *scrub, const struct record *record, struct record *seen)
{
    struct scrub_thread *leaves = scrub_find(scrub, record->thread);
    struct scrub_thread *enters = scrub_find(scrub, record->next);
    if (scrub->occupancy != NULL)
        occupancy_take(scrub->occupancy, record);
    if (leaves == NULL && enters == NULL)
        return false;
    seen->priority = seen->next_priority = IDLE_PRIORITY;
    if (leaves != NULL) {
        leaves->is_asleep = (record->state & STATE_SLEEPS) != 0;
        leaves->ready_since = leaves->is_asleep ? 0 : record->time;
        seen->thread = record->thread;
        seen->state = record->state;
        seen->priority = record->priority;
    }
    if (enters != NULL) {
        seen->next = record->next;
        seen->next_priority = record->next_priority;
        tell_wait(scrub, enters, record, seen);
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

/* Takes the end of a timer. A timer may belong to another thread, or to a CPU. So the user sees one
 * end for each start in the context of an own thread. This tells the user nothing new, because the
 * record of the start has the time of the end. */
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

static bool take_waking(const struct scrub *scrub, const struct record *record, struct record *seen)
{
    struct scrub_thread *thread = scrub_find(scrub, record->thread);
    if (thread == NULL)
        return false;
    seen->thread = record->thread;
    if (thread->is_asleep)
        thread->ready_since = record->time;
    thread->is_asleep = false;
    if (scrub->occupancy == NULL)
        return true;
    seen->state = record->state;
    if (record->next > 0 && call_kind(thread->call) == CALL_LOCK &&
        (scrub_find(scrub, record->next) != NULL ||
         scrub->is_relative(scrub->context, record->thread, record->next)))
        seen->next = record->next;
    return true;
}

static bool take_cause(const struct scrub *scrub, const struct record *record, struct record *seen)
{
    struct scrub_thread *thread = scrub_find(scrub, record->thread);
    if (thread == NULL || scrub->occupancy == NULL)
        return false;
    seen->thread = record->thread;
    if (record->kind == RECORD_CALL || record->kind == RECORD_RETURN)
        thread->call = seen->call = record->call;
    if (record->kind == RECORD_INTERRUPT)
        seen->state = record->state;
    return true;
}

bool scrub_take(const struct scrub *scrub, const struct record *record, struct record *seen)
{
    *seen = (struct record){.time = record->time, .kind = record->kind, .cpu = record->cpu};
    switch ((enum record_kind)record->kind) {
    case RECORD_SWITCH: return take_switch(scrub, record, seen);
    case RECORD_THROTTLE: return take_throttle(scrub, record, seen);
    case RECORD_REPLENISH: return take_replenish(scrub, record, seen);
    case RECORD_WAKING: return take_waking(scrub, record, seen);
    case RECORD_CALL:
    case RECORD_RETURN:
    case RECORD_FAULT:
    case RECORD_INTERRUPT:
    case RECORD_RESUME: return take_cause(scrub, record, seen);
    case RECORD_MIGRATE:
        seen->thread = record->thread;
        seen->to_cpu = record->to_cpu;
        return scrub_find(scrub, record->thread) != NULL;
    }
    return false;
}
