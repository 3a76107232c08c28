#include "stretches.h"

#include <stdlib.h>

#include "call-kinds.h"
#include "occupancy.h"

enum { ORDINARY = 100, STOPPED = 0x4 | 0x8, NOT_INTERRUPTIBLE = 0x2 };

/* The tick of a CPU may come this much late, ns, before the delay counts as time of the host. */
static const int64_t tick_slack = 300000;

enum place { NOT_KNOWN, IN_CALL, OUTSIDE };

/* The state of the thread, as far as the records tell more than the timeline. */
struct watching {
    const struct stretches_source *source;
    const struct traced *thread;
    /* NULL: each record tells itself which threads had the CPU (record.wait) */
    struct occupancy *occupancy;
    struct stretches sleeps, waits, cuts; /* cuts: times of a run in which the thread did not run */
    enum place place;
    uint16_t call;
    struct record left; /* the record by which the thread left its CPU */
    bool is_asleep, has_cpu, failed;
    bool faulted;        /* a page fault has come since the last system call or sleep */
    int64_t ready_since; /* 0: not known */
    int64_t ticked;      /* the next tick is due one tick length after this time */
    int64_t interrupted;
    unsigned depth; /* how many interrupts are nested now; 0: none */
};

/* ---- lists ---- */

static bool append(struct stretches *stretches, struct stretch stretch)
{
    if (stretch.to <= stretch.from)
        return true;
    if (stretches->count == stretches->size) {
        const size_t size = stretches->size == 0 ? 1024 : 2 * stretches->size;
        struct stretch *list = reallocarray(stretches->list, size, sizeof *list);
        if (list == NULL)
            return false;
        stretches->list = list;
        stretches->size = size;
    }
    stretches->list[stretches->count++] = stretch;
    return true;
}

void stretches_free(struct stretches *stretches)
{
    free(stretches->list);
    *stretches = (struct stretches){0};
}

/* ---- sleeps ---- */

/* Returns the kind of a sleep that has ended. If an interrupt ended the sleep, a timer or a device
 * woke the thread, and no other thread did. */
static enum stretch_kind kind_of_sleep(const struct watching *watching, bool by_interrupt)
{
    const bool is_interruptible = (watching->left.state & NOT_INTERRUPTIBLE) == 0;
    if ((watching->left.state & STOPPED) != 0)
        return STRETCH_STOPPED;
    if (watching->place == OUTSIDE && is_interruptible && watching->source->has_faults &&
        !watching->faulted)
        return STRETCH_STOPPED; /* the freezer of a cgroup has stopped the thread */
    if (watching->place == OUTSIDE)
        return STRETCH_FAULT;
    if (watching->place == NOT_KNOWN)
        return is_interruptible ? STRETCH_PAUSE : STRETCH_CALL;
    if (!is_interruptible)
        return STRETCH_CALL;
    switch (call_kind(watching->call)) {
    case CALL_PAUSE: return STRETCH_PAUSE;
    case CALL_LOCK: return by_interrupt ? STRETCH_PAUSE : STRETCH_LOCK;
    case CALL_YIELD:
    case CALL_OTHER: break;
    }
    return by_interrupt ? STRETCH_PAUSE : STRETCH_CALL;
}

/* Adds a sleep that ends at `time`. waking NULL: the record that ends the sleep is lost, or the
 * recording has ended. */
static void end_sleep(struct watching *watching, int64_t time, const struct record *waking,
                      bool is_lost)
{
    const bool by_interrupt = waking != NULL && waking->state == WOKEN_BY_INTERRUPT;
    const struct stretch sleep = {.from = watching->left.time,
                                  .to = time,
                                  .holder = waking == NULL ? 0 : waking->next,
                                  .call = watching->place == IN_CALL ? watching->call : 0,
                                  .kind =
                                      (uint8_t)(is_lost ? STRETCH_LOST
                                                        : kind_of_sleep(watching, by_interrupt))};
    watching->is_asleep = watching->faulted = false;
    watching->failed |= !append(&watching->sleeps, sleep);
}

/* ---- times in which nothing ran ---- */

/* While a thread has a CPU, the CPU's timer interrupts it once in each tick. If this interrupt
 * comes late, nothing ran on the CPU for at least the time by which it is late. */
static void note_tick(struct watching *watching, int64_t time)
{
    const int64_t late = time - watching->ticked - watching->source->tick;
    if (watching->source->tick > 0 && late > tick_slack)
        watching->failed |=
            !append(&watching->cuts,
                    (struct stretch){.from = time - late, .to = time, .kind = STRETCH_HOST});
    watching->ticked = time;
}

static void take_interrupt(struct watching *watching, const struct record *record)
{
    if (!watching->has_cpu)
        return;
    if (record->state == INTERRUPT_OF_TIMER && watching->depth == 0)
        note_tick(watching, record->time);
    if (watching->depth++ == 0)
        watching->interrupted = record->time;
}

static void take_resume(struct watching *watching, const struct record *record)
{
    if (!watching->has_cpu || watching->depth == 0 || --watching->depth > 0)
        return;
    watching->failed |= !append(&watching->cuts, (struct stretch){.from = watching->interrupted,
                                                                  .to = record->time,
                                                                  .kind = STRETCH_INTERRUPT});
}

/* ---- CPUs ---- */

static void take_leave(struct watching *watching, const struct record *record)
{
    if (watching->has_cpu && watching->depth == 0)
        note_tick(watching, record->time);
    watching->has_cpu = false;
    watching->left = *record;
    watching->is_asleep = (record->state & STATE_SLEEPS) != 0;
    watching->ready_since = watching->is_asleep ? 0 : record->time;
    if (!watching->is_asleep && watching->place == IN_CALL &&
        call_kind(watching->call) == CALL_YIELD)
        watching->failed |= !append(&watching->sleeps, (struct stretch){.from = record->time,
                                                                        .to = record->time + 1,
                                                                        .kind = STRETCH_PAUSE});
}

static enum stretch_kind kind_of_wait(const struct watching *watching, const struct record *record,
                                      enum wait_kind kind)
{
    static const enum stretch_kind kinds[] = {[WAIT_NOT_TOLD] = STRETCH_LOST,
                                              [WAIT_OTHERS] = STRETCH_OTHERS,
                                              [WAIT_LOWER] = STRETCH_LOWER,
                                              [WAIT_NONE] = STRETCH_HOST,
                                              [WAIT_LOST] = STRETCH_LOST};
    if (watching->thread->real_time && record->next_priority >= ORDINARY)
        return STRETCH_ORDINARY;
    return kind <= WAIT_LOST ? kinds[kind] : STRETCH_LOST;
}

static void take_enter(struct watching *watching, const struct record *record)
{
    struct occupancy_wait wait = {(enum wait_kind)record->wait, record->others};
    if (watching->is_asleep) /* the record that woke the thread is lost */
        end_sleep(watching, record->time, NULL, true);
    if (watching->occupancy != NULL && watching->ready_since != 0)
        wait = occupancy_explain(watching->occupancy, record, watching->ready_since);
    if (watching->ready_since != 0)
        watching->failed |=
            !append(&watching->waits,
                    (struct stretch){.from = watching->ready_since,
                                     .to = record->time,
                                     .others = wait.others,
                                     .kind = (uint8_t)kind_of_wait(watching, record, wait.kind)});
    watching->has_cpu = true;
    watching->ready_since = 0;
    watching->depth = 0;
    watching->ticked = record->time;
}

static void take_switch(struct watching *watching, const struct record *record)
{
    const pid_t tid = watching->thread->tid;
    if (watching->occupancy != NULL)
        occupancy_take(watching->occupancy, record);
    if (record->thread == tid)
        take_leave(watching, record);
    if (record->next == tid)
        take_enter(watching, record);
}

static void take(struct watching *watching, const struct record *record)
{
    const bool is_own = record->thread == watching->thread->tid;
    switch ((enum record_kind)record->kind) {
    case RECORD_SWITCH: take_switch(watching, record); break;
    case RECORD_WAKING:
        if (is_own && watching->is_asleep) {
            end_sleep(watching, record->time, record, false);
            watching->ready_since = record->time;
        }
        break;
    case RECORD_CALL:
    case RECORD_RETURN:
        if (is_own) {
            watching->place = record->kind == RECORD_CALL ? IN_CALL : OUTSIDE;
            watching->call = record->call;
            watching->faulted = false;
        }
        break;
    case RECORD_INTERRUPT:
        if (is_own)
            take_interrupt(watching, record);
        break;
    case RECORD_RESUME:
        if (is_own)
            take_resume(watching, record);
        break;
    case RECORD_FAULT:
        if (is_own)
            watching->faulted = true;
        break;
    case RECORD_MIGRATE:
    case RECORD_THROTTLE:
    case RECORD_REPLENISH: break;
    }
}

/* ---- merging with the timeline ---- */

struct merging {
    const struct watching *watching;
    struct stretches *into;
    size_t sleep, wait, cut; /* the number of the next stretch in each list */
    int64_t at;              /* everything before this time is merged */
    bool failed;
};

static void put(struct merging *merging, struct stretch stretch)
{
    merging->failed |= !append(merging->into, stretch);
    merging->at = stretch.to;
}

/* Returns the stretch of the list that begins at this time. NULL: there is none. */
static const struct stretch *begins_at(const struct stretches *list, size_t *next, int64_t time)
{
    while (*next < list->count && list->list[*next].from < time)
        ++*next;
    return *next < list->count && list->list[*next].from == time ? &list->list[*next] : NULL;
}

static void put_sleep(struct merging *merging, int64_t to)
{
    const struct stretch *sleep =
        begins_at(&merging->watching->sleeps, &merging->sleep, merging->at);
    struct stretch stretch = {.kind = STRETCH_LOST};
    if (sleep != NULL)
        stretch = *sleep;
    stretch.from = merging->at;
    stretch.to = to;
    put(merging, stretch);
}

static void put_run(struct merging *merging, const struct span *span)
{
    const struct stretches *cuts = &merging->watching->cuts;
    for (; merging->cut < cuts->count && cuts->list[merging->cut].from < span->to; merging->cut++) {
        struct stretch cut = cuts->list[merging->cut];
        if (cut.from < merging->at)
            cut.from = merging->at;
        if (cut.to > span->to)
            cut.to = span->to;
        if (cut.to <= cut.from)
            continue;
        put(merging, (struct stretch){merging->at, cut.from, .kind = STRETCH_RUN});
        put(merging, cut);
    }
    put(merging, (struct stretch){merging->at, span->to, .kind = STRETCH_RUN});
}

static void put_wait(struct merging *merging, const struct span *span)
{
    const struct stretches *waits = &merging->watching->waits;
    struct stretch stretch = {.kind = STRETCH_LOST};
    while (merging->wait < waits->count && waits->list[merging->wait].to < span->to)
        merging->wait++;
    if (merging->wait < waits->count && waits->list[merging->wait].to == span->to)
        stretch = waits->list[merging->wait];
    stretch.from = merging->at;
    stretch.to = span->to;
    put(merging, stretch);
}

static void put_throttle(struct merging *merging, const struct span *span)
{
    const struct stretch *yield =
        begins_at(&merging->watching->sleeps, &merging->sleep, span->from);
    put(merging, (struct stretch){merging->at, span->to, .until = span->value,
                                  .kind = (uint8_t)(yield != NULL      ? STRETCH_PAUSE
                                                    : span->value != 0 ? STRETCH_THROTTLED
                                                                       : STRETCH_ORDINARY)});
}

/* A thread that is ready and not throttled has no replenishment timer. So the thread was throttled
 * until this replenishment, although it was also woken in this time. */
static void put_replenishment(struct merging *merging, const struct span *mark)
{
    struct stretches *into = merging->into;
    struct stretch *last = into->count == 0 ? NULL : &into->list[into->count - 1];
    if (last == NULL || mark->value == 0 || last->from >= mark->from || last->to <= mark->from ||
        (last->kind != STRETCH_OTHERS && last->kind != STRETCH_LOWER && last->kind != STRETCH_HOST))
        return;
    struct stretch rest = *last;
    last->to = rest.from = mark->from;
    last->until = mark->from;
    last->kind = STRETCH_THROTTLED;
    put(merging, rest);
}

static void put_span(struct merging *merging, const struct span *span)
{
    if (span->kind == MARK_REPLENISHED) {
        put_replenishment(merging, span);
        return;
    }
    if (span->kind != SPAN_RUNNING && span->kind != SPAN_WAITING && span->kind != SPAN_THROTTLED &&
        span->kind != SPAN_LOST)
        return;
    if (span->from > merging->at)
        put_sleep(merging, span->from);
    if (span->kind == SPAN_RUNNING)
        put_run(merging, span);
    else if (span->kind == SPAN_WAITING)
        put_wait(merging, span);
    else if (span->kind == SPAN_THROTTLED)
        put_throttle(merging, span);
    else
        put(merging, (struct stretch){merging->at, span->to, .kind = STRETCH_LOST});
}

static bool merge(const struct watching *watching, struct stretches *stretches)
{
    const struct timeline *timeline = watching->source->timeline;
    struct merging merging = {.watching = watching, .into = stretches, .at = timeline->begin};
    for (size_t i = 0; i < timeline->span_count; i++)
        if (timeline->spans[i].thread == watching->source->thread)
            put_span(&merging, &timeline->spans[i]);
    if (!watching->thread->ended && merging.at < timeline->end)
        put_sleep(&merging, timeline->end);
    return !merging.failed;
}

bool stretches_build(const struct stretches_source *source, struct stretches *stretches)
{
    const struct timeline *timeline = source->timeline;
    struct watching watching = {.source = source, .thread = &timeline->threads[source->thread]};
    *stretches = (struct stretches){0};
    if (source->sees_all)
        watching.occupancy = occupancy_new(timeline->cpus);
    watching.failed = source->sees_all && watching.occupancy == NULL;
    for (size_t i = 0; i < source->count && !watching.failed; i++)
        take(&watching, &source->records[i]);
    if (watching.is_asleep)
        end_sleep(&watching, timeline->end, NULL, false);
    const bool good = !watching.failed && merge(&watching, stretches);
    occupancy_free(watching.occupancy);
    stretches_free(&watching.sleeps);
    stretches_free(&watching.waits);
    stretches_free(&watching.cuts);
    return good;
}
