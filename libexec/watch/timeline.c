#include "timeline.h"

#include <stdlib.h>

#include "lost-events.h"

enum { TIMERS_MOST = 4, ORDINARY = 100 }; /* the kernel's first priority that is not real-time */

enum where { NOT_KNOWN, RUNNING, WAITING, THROTTLED, ASLEEP, ENDED };

/* A timer that may be the replenishment timer of a thread: it was started in the context of the
 * thread. count: how often the thread then left its CPU although it was runnable. */
struct candidate {
    uint64_t timer;
    uint32_t count;
};

struct follower {
    enum where where;
    int64_t since;
    uint16_t cpu;
    bool ordinary; /* the thread runs without its real-time policy */
    struct candidate candidates[TIMERS_MOST];
    int latest;     /* the candidate that was started last; -1: none since the thread got its CPU */
    uint64_t timer; /* the timer that replenishes this thread; 0: not known */
    int64_t until;  /* the timer runs until this time; 0: it does not run */
    uint32_t job;   /* the present job; 0: there is none, or its beginning is lost */
    int64_t job_begin, job_deadline;
};

struct building {
    struct timeline *timeline;
    struct follower *followers;
    struct chain *chains;
    size_t span_size;
    bool failed;
};

/* ---- threads and spans ---- */

size_t timeline_find(const struct timeline *timeline, pid_t tid)
{
    size_t low = 0, high = timeline->thread_count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (timeline->threads[middle].tid < tid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < timeline->thread_count && timeline->threads[low].tid == tid
               ? low
               : timeline->thread_count;
}

/* Returns the follower of the thread. NULL: the thread is not traced, or has ended. A later thread
 * with the same id is not traced. */
static struct follower *find(struct building *building, pid_t tid)
{
    const size_t index = timeline_find(building->timeline, tid);
    struct follower *follower =
        index < building->timeline->thread_count ? &building->followers[index] : NULL;
    return follower == NULL || follower->where == ENDED ? NULL : follower;
}

static struct traced *traced(const struct building *building, const struct follower *follower)
{
    return &building->timeline->threads[follower - building->followers];
}

static void add(struct building *building, const struct follower *follower, enum span_kind kind,
                int64_t from, int64_t to, int64_t value)
{
    struct timeline *timeline = building->timeline;
    if (building->failed)
        return;
    if (timeline->span_count == building->span_size) {
        const size_t size = building->span_size == 0 ? 4096 : 2 * building->span_size;
        struct span *spans = reallocarray(timeline->spans, size, sizeof *spans);
        building->failed = spans == NULL;
        if (spans == NULL)
            return;
        timeline->spans = spans;
        building->span_size = size;
    }
    timeline->spans[timeline->span_count++] =
        (struct span){.from = from,
                      .to = to,
                      .value = value,
                      .thread = (uint32_t)(follower - building->followers),
                      .job = follower->job,
                      .cpu = follower->cpu,
                      .kind = (uint8_t)kind};
}

static void add_lost(struct building *building, const struct follower *follower, int64_t from,
                     int64_t to)
{
    traced(building, follower)->lost++;
    if (to <= from)
        return;
    traced(building, follower)->lost_time += to - from;
    add(building, follower, SPAN_LOST, from, to, 0);
}

/* Ends the present span of the thread. */
static void end_span(struct building *building, const struct follower *follower, int64_t time)
{
    struct traced *thread = traced(building, follower);
    const int64_t from = follower->since, length = time - from;
    if (length <= 0)
        return;
    switch (follower->where) {
    case RUNNING:
        thread->ran += length;
        add(building, follower, SPAN_RUNNING, from, time, follower->ordinary);
        break;
    case WAITING:
        thread->waited += length;
        add(building, follower, SPAN_WAITING, from, time, 0);
        break;
    case THROTTLED:
        thread->throttled += length;
        add(building, follower, SPAN_THROTTLED, from, time, follower->until);
        break;
    case NOT_KNOWN:
    case ASLEEP:
    case ENDED: break;
    }
}

static void begin_span(struct follower *follower, enum where where, int64_t time)
{
    follower->where = where;
    follower->since = time;
}

/* ---- jobs ---- */

static void begin_job(struct building *building, struct follower *follower, int64_t time)
{
    struct traced *thread = traced(building, follower);
    follower->job = ++thread->jobs;
    follower->job_begin = time;
    follower->job_deadline = thread->deadline > 0 ? time + thread->deadline : 0;
}

static void end_job(struct building *building, struct follower *follower, int64_t time)
{
    struct traced *thread = traced(building, follower);
    if (follower->job == 0)
        return;
    add(building, follower, SPAN_JOB, follower->job_begin, time, follower->job_deadline);
    if (follower->job_deadline != 0 && time > follower->job_deadline) {
        thread->missed++;
        add(building, follower, MARK_MISSED, follower->job_deadline, follower->job_deadline,
            follower->job);
    }
    follower->job = 0;
}

/* ---- records ---- */

/* The thread leaves a CPU, but no record says that it got this CPU: that record is lost. The last
 * record of the CPU, which says that another thread got it, is of the time chain->since; if the CPU
 * has no record yet, this is the beginning of the recording. */
static void leave_unseen(struct building *building, struct follower *follower,
                         const struct chain *chain, int64_t time)
{
    int64_t from = chain->since;
    /* the thread has run since the recording began */
    if (follower->where == NOT_KNOWN && !chain->known) {
        follower->where = RUNNING;
        follower->since = from;
        end_span(building, follower, time);
        return;
    }
    if (follower->where == THROTTLED && follower->until > from)
        from = follower->until;
    if (from > time)
        from = time;
    if (from < follower->since)
        from = follower->since;
    /* the thread was running on another CPU; the end of that run is lost */
    if (follower->where == RUNNING)
        from = follower->since;
    else
        end_span(building, follower, from);
    add_lost(building, follower, from, time);
}

/* True if the thread runs without the real-time policy that its grant has. */
static bool is_ordinary(const struct traced *thread, int16_t priority)
{
    return thread->real_time && priority >= ORDINARY;
}

static void leave(struct building *building, struct follower *follower, const struct record *record,
                  const struct chain *chain)
{
    const int64_t time = record->time;
    const bool is_seen = follower->where == RUNNING && follower->cpu == record->cpu;
    struct traced *thread = traced(building, follower);
    thread->seen = true;
    if (is_seen)
        end_span(building, follower, time);
    else
        leave_unseen(building, follower, chain, time);
    follower->cpu = record->cpu;
    if ((record->state & STATE_SLEEPS) != 0) {
        end_job(building, follower, time);
        begin_span(follower, (record->state & STATE_ENDED) != 0 ? ENDED : ASLEEP, time);
        thread->ended = follower->where == ENDED;
    } else if (follower->until > time || is_ordinary(thread, record->priority)) {
        thread->throttles++;
        begin_span(follower, THROTTLED, time);
    } else
        begin_span(follower, WAITING, time);
}

/* A throttled thread gets a CPU. If the kernel, and not rtf-guard, has throttled the thread, the
 * record of its replenishment is lost. */
static void end_throttle(struct building *building, struct follower *follower, int64_t time)
{
    int64_t from = follower->until != 0 && follower->until < time ? follower->until : time;
    if (from < follower->since) /* the timer belongs to an earlier throttle */
        from = follower->since;
    end_span(building, follower, from);
    if (follower->until != 0)
        add_lost(building, follower, from, time);
    follower->until = 0;
}

static void enter(struct building *building, struct follower *follower, const struct record *record)
{
    const int64_t time = record->time;
    int64_t from = follower->since;
    traced(building, follower)->seen = true;
    switch (follower->where) {
    case WAITING: end_span(building, follower, time); break;
    case RUNNING: /* the event that took the thread off its CPU is lost */
        add_lost(building, follower, from, time);
        break;
    case THROTTLED: end_throttle(building, follower, time); break;
    case ASLEEP: /* the event that woke the thread is lost */
        add_lost(building, follower, time, time);
        break;
    case NOT_KNOWN:
    case ENDED: break;
    }
    follower->cpu = record->cpu;
    follower->ordinary = is_ordinary(traced(building, follower), record->next_priority);
    begin_span(follower, RUNNING, time);
}

static void take_switch(struct building *building, const struct record *record)
{
    struct timeline *timeline = building->timeline;
    struct chain *chain = &building->chains[record->cpu];
    struct follower *leaves = find(building, record->thread),
                    *enters = find(building, record->next);
    timeline->gaps[record->cpu] += lost_event_before(chain, record);
    if (leaves != NULL)
        leave(building, leaves, record, chain);
    if (enters != NULL)
        enter(building, enters, record);
    chain_follow(chain, record);
}

static void take_waking(struct building *building, struct follower *follower, int64_t time)
{
    if (follower->where != ASLEEP && follower->where != NOT_KNOWN)
        return; /* the thread was about to sleep, but continues to run */
    traced(building, follower)->seen = true;
    begin_job(building, follower, time);
    begin_span(follower, WAITING, time);
}

static void take_migrate(struct building *building, struct follower *follower,
                         const struct record *record)
{
    const uint16_t cpu = follower->cpu;
    traced(building, follower)->migrations++;
    follower->cpu = record->to_cpu;
    add(building, follower, MARK_MIGRATED, record->time, record->time, 0);
    if (follower->where == RUNNING)
        follower->cpu = cpu; /* the end of its run is lost */
}

static void take_throttle(struct follower *follower, const struct record *record)
{
    if (follower->timer == record->timer)
        follower->until = record->expires;
}

static void take_replenish(struct building *building, const struct record *record)
{
    const struct timeline *timeline = building->timeline;
    for (size_t i = 0; i < timeline->thread_count; i++) {
        struct follower *follower = &building->followers[i];
        const struct traced *thread = &timeline->threads[i];
        if (follower->timer != record->timer || follower->where == ENDED)
            continue;
        timeline->threads[i].replenishments++;
        if (follower->where == THROTTLED) {
            end_span(building, follower, record->time);
            begin_span(follower, WAITING, record->time);
        }
        add(building, follower, MARK_REPLENISHED, record->time, record->time,
            follower->until == 0 ? 0 : follower->until + thread->deadline);
        follower->until = 0;
        return;
    }
}

static void take(struct building *building, const struct record *record)
{
    struct follower *follower = record->kind == RECORD_SWITCH || record->kind == RECORD_REPLENISH
                                    ? NULL
                                    : find(building, record->thread);
    if (record->kind == RECORD_SWITCH)
        take_switch(building, record);
    else if (record->kind == RECORD_REPLENISH && record->timer != 0)
        take_replenish(building, record);
    else if (follower != NULL && record->kind == RECORD_WAKING)
        take_waking(building, follower, record->time);
    else if (follower != NULL && record->kind == RECORD_MIGRATE)
        take_migrate(building, follower, record);
    else if (follower != NULL && record->kind == RECORD_THROTTLE)
        take_throttle(follower, record);
}

/* ---- which timer is whose ---- */

/* Notes a timer that may be the thread's own. The timers of the kernel's fair server also have the
 * function dl_task_timer, and start in the context of a reserved thread, too. The thread's own
 * timer expires within a period. After its start, more often than after the starts of other timers,
 * the thread leaves its CPU although it is runnable. */
static void note_timer(struct follower *follower, const struct record *record, int64_t period)
{
    if (period > 0 && record->expires - record->time > period)
        return;
    int i = 0;
    while (i < TIMERS_MOST && follower->candidates[i].timer != 0 &&
           follower->candidates[i].timer != record->timer)
        i++;
    follower->latest = i < TIMERS_MOST ? i : -1;
    if (i < TIMERS_MOST)
        follower->candidates[i].timer = record->timer;
}

static void note_leaving(struct follower *follower, const struct record *record)
{
    if (follower->latest >= 0 && (record->state & STATE_SLEEPS) == 0)
        follower->candidates[follower->latest].count++;
    follower->latest = -1;
}

static void find_timers(struct building *building, const struct record *records, size_t count)
{
    const struct timeline *timeline = building->timeline;
    for (size_t i = 0; i < count; i++) {
        struct follower *follower = find(building, records[i].thread);
        if (follower != NULL && records[i].kind == RECORD_THROTTLE)
            note_timer(follower, &records[i], traced(building, follower)->period);
        else if (follower != NULL && records[i].kind == RECORD_SWITCH)
            note_leaving(follower, &records[i]);
    }
    for (size_t i = 0; i < timeline->thread_count; i++) {
        struct follower *follower = &building->followers[i];
        uint32_t most = 0;
        for (int j = 0; j < TIMERS_MOST; j++)
            if (follower->candidates[j].count > most) {
                most = follower->candidates[j].count;
                follower->timer = follower->candidates[j].timer;
            }
    }
}

/* ---- the whole timeline ---- */

static int compare(const void *one, const void *two)
{
    const struct span *a = one, *b = two;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to > b->to ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

/* Ends all spans at the end of the recording. */
static void end_all(struct building *building)
{
    const struct timeline *timeline = building->timeline;
    for (size_t i = 0; i < timeline->thread_count; i++) {
        struct follower *follower = &building->followers[i];
        if (follower->where == ENDED)
            continue;
        end_span(building, follower, timeline->end);
        end_job(building, follower, timeline->end);
    }
}

bool timeline_build(struct timeline *timeline, const struct record *records, size_t count)
{
    struct building building = {.timeline = timeline,
                                .followers =
                                    calloc(timeline->thread_count + 1, sizeof *building.followers),
                                .chains = calloc(timeline->cpus + 1, sizeof *building.chains)};
    timeline->spans = NULL;
    timeline->span_count = 0;
    timeline->gaps = calloc(timeline->cpus + 1, sizeof *timeline->gaps);
    if (building.followers == NULL || building.chains == NULL || timeline->gaps == NULL)
        building.failed = true;
    for (size_t i = 0; !building.failed && i < timeline->thread_count; i++)
        building.followers[i] = (struct follower){.latest = -1, .since = timeline->begin};
    for (unsigned cpu = 0; !building.failed && cpu < timeline->cpus; cpu++)
        building.chains[cpu].since = timeline->begin;
    if (!building.failed)
        find_timers(&building, records, count);
    for (size_t i = 0; !building.failed && i < count; i++)
        take(&building, &records[i]);
    if (!building.failed)
        end_all(&building);
    if (timeline->span_count > 0)
        qsort(timeline->spans, timeline->span_count, sizeof *timeline->spans, compare);
    free(building.followers);
    free(building.chains);
    return !building.failed;
}

void timeline_free(struct timeline *timeline)
{
    free(timeline->spans);
    free(timeline->gaps);
    timeline->spans = NULL;
    timeline->gaps = NULL;
}
