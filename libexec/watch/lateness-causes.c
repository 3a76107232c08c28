#include "lateness-causes.h"

#include <stdlib.h>

/* The usual time of a cause is the median over the jobs that were in time. With fewer of these
 * jobs, no time is usual. */
enum { USUAL_LEAST = 3 };

/* ---- jobs ---- */

static bool pauses(const struct stretch *stretch, bool at_each_sleep)
{
    return stretch->kind == STRETCH_PAUSE ||
           (at_each_sleep && (stretch->kind == STRETCH_LOCK || stretch->kind == STRETCH_CALL));
}

static bool has_pause(const struct stretches *stretches)
{
    for (size_t i = 0; i < stretches->count; i++)
        if (stretches->list[i].kind == STRETCH_PAUSE)
            return true;
    return false;
}

/* Leaves out the first job, because its release is not recorded. */
bool jobs_find(const struct stretches *stretches, int64_t deadline, struct job **jobs,
               size_t *count)
{
    const bool at_each_sleep = !has_pause(stretches);
    struct job *present = NULL;
    bool paused = false;
    *count = 0;
    *jobs = calloc(stretches->count + 1, sizeof **jobs);
    for (size_t i = 0; *jobs != NULL && i < stretches->count; i++) {
        const struct stretch *stretch = &stretches->list[i];
        if (pauses(stretch, at_each_sleep)) {
            if (present != NULL)
                present->goes_on = false;
            present = NULL;
            paused = true;
            continue;
        }
        if (present == NULL && paused) {
            present = &(*jobs)[(*count)++];
            *present = (struct job){stretch->from, stretch->to, deadline, true};
        }
        if (present != NULL)
            present->end = stretch->to;
    }
    return *jobs != NULL;
}

/* ---- the times of a job ---- */

static enum cause cause_of(enum stretch_kind kind)
{
    static const enum cause causes[STRETCH_KINDS] = {
        [STRETCH_INTERRUPT] = CAUSE_INTERRUPT, [STRETCH_HOST] = CAUSE_HOST,
        [STRETCH_THROTTLED] = CAUSE_THROTTLED, [STRETCH_ORDINARY] = CAUSE_ORDINARY,
        [STRETCH_OTHERS] = CAUSE_OTHERS,       [STRETCH_LOWER] = CAUSE_LOWER,
        [STRETCH_LOCK] = CAUSE_LOCK,           [STRETCH_CALL] = CAUSE_CALL,
        [STRETCH_FAULT] = CAUSE_FAULT,         [STRETCH_STOPPED] = CAUSE_STOPPED,
        [STRETCH_PAUSE] = CAUSE_SLEPT,         [STRETCH_LOST] = CAUSE_NOT_KNOWN};
    return causes[kind];
}

static void add_stretch(struct explained_job *explained, const struct stretch *stretch)
{
    struct stretch part = *stretch;
    if (part.from < explained->job.release)
        part.from = explained->job.release;
    if (part.to > explained->job.end)
        part.to = explained->job.end;
    const int64_t time = part.to - part.from;
    if (time <= 0)
        return;
    if (part.kind == STRETCH_RUN) {
        explained->ran += time;
        return;
    }
    const enum cause cause = cause_of((enum stretch_kind)part.kind);
    struct stretch *longest = &explained->longest[cause];
    explained->times[cause] += time;
    if (time > longest->to - longest->from)
        *longest = part;
}

/* Adds the stretches that lie within the job. Returns the number of the first stretch that may
 * touch the next job. */
static size_t add_stretches(struct explained_job *explained, const struct stretches *stretches,
                            size_t first)
{
    while (first < stretches->count && stretches->list[first].to <= explained->job.release)
        first++;
    for (size_t i = first; i < stretches->count && stretches->list[i].from < explained->job.end;
         i++)
        add_stretch(explained, &stretches->list[i]);
    return first;
}

/* Adds the times before the first and behind the last stretch, which are not recorded. */
static void add_unrecorded(struct explained_job *explained)
{
    int64_t known = explained->ran;
    for (enum cause cause = 0; cause < CAUSES; cause++)
        known += explained->times[cause];
    explained->times[CAUSE_NOT_KNOWN] += explained->job.end - explained->job.release - known;
}

static bool is_late(const struct job *job)
{
    return job->end - job->release > job->deadline;
}

/* ---- what is usual ---- */

static int compare(const void *one, const void *two)
{
    const int64_t a = *(const int64_t *)one, b = *(const int64_t *)two;
    return (a > b) - (a < b);
}

/* Finds the median of each cause among the jobs that were in time. values: room for all jobs. */
static void find_usual(const struct explained_job *jobs, size_t count, int64_t *values,
                       int64_t usual[static CAUSES])
{
    for (enum cause cause = 0; cause < CAUSES; cause++) {
        size_t used = 0;
        for (size_t i = 0; i < count; i++)
            if (!is_late(&jobs[i].job))
                values[used++] = jobs[i].times[cause];
        usual[cause] = 0;
        if (used < USUAL_LEAST)
            continue;
        qsort(values, used, sizeof *values, compare);
        usual[cause] = values[used / 2];
    }
}

/* ---- the cause ---- */

/* Sets the weights: for each cause, the time beyond its usual time. If the thread used more than
 * its runtime, it was throttled or made ordinary because of this overrun. So these times count for
 * CAUSE_OVERRUN. They count for CAUSE_INTERRUPT if interrupts took more time than the overrun,
 * because the kernel counts the time of interrupts as time of the thread. */
static void weigh(struct explained_job *explained, int64_t runtime,
                  const int64_t usual[static CAUSES])
{
    int64_t *weights = explained->weights;
    for (enum cause cause = 0; cause < CAUSES; cause++) {
        weights[cause] = explained->times[cause] - usual[cause];
        if (weights[cause] < 0)
            weights[cause] = 0;
    }
    weights[CAUSE_NOT_KNOWN] = explained->times[CAUSE_NOT_KNOWN];
    if (runtime == 0 || explained->ran + explained->times[CAUSE_INTERRUPT] <= runtime)
        return;
    const bool ran_too_long = explained->times[CAUSE_OVERRUN] > explained->times[CAUSE_INTERRUPT];
    weights[ran_too_long ? CAUSE_OVERRUN : CAUSE_INTERRUPT] +=
        weights[CAUSE_THROTTLED] + weights[CAUSE_ORDINARY];
    weights[CAUSE_THROTTLED] = weights[CAUSE_ORDINARY] = 0;
}

static bool comes_before(const struct explained_job *explained, enum cause one, enum cause two)
{
    return explained->weights[one] != explained->weights[two]
               ? explained->weights[one] > explained->weights[two]
               : explained->times[one] > explained->times[two];
}

static void move_first(enum cause order[static CAUSES], size_t from)
{
    const enum cause cause = order[from];
    for (; from > 0; from--)
        order[from] = order[from - 1];
    order[0] = cause;
}

/* Puts the largest cause first. The lost time may belong to any cause. So the largest cause is
 * certain only if it stays the largest even when all lost time belongs to the second largest.
 * Otherwise CAUSE_NOT_KNOWN is first. */
static void put_in_order(struct explained_job *explained)
{
    enum cause *order = explained->order;
    const int64_t *weights = explained->weights;
    for (enum cause cause = 0; cause < CAUSES; cause++) {
        size_t at = cause;
        for (; at > 0 && comes_before(explained, cause, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = cause;
    }
    size_t lost = 0;
    while (order[lost] != CAUSE_NOT_KNOWN)
        lost++;
    const int64_t unknown = weights[CAUSE_NOT_KNOWN];
    const enum cause first = order[lost == 0 ? 1 : 0], second = order[lost <= 1 ? 2 : 1];
    if (weights[first] == 0 || (unknown > 0 && weights[first] <= weights[second] + unknown))
        move_first(order, lost);
}

static size_t keep_late(struct explained_job *jobs, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (is_late(&jobs[i].job))
            jobs[kept++] = jobs[i];
    return kept;
}

bool lateness_explain(const struct stretches *stretches, const struct job *jobs, size_t job_count,
                      int64_t runtime, struct explained_job **late, size_t *late_count)
{
    int64_t usual[CAUSES], *values = calloc(job_count + 1, sizeof *values);
    struct explained_job *all = calloc(job_count + 1, sizeof *all);
    size_t first = 0;
    *late_count = 0;
    *late = all;
    for (size_t i = 0; all != NULL && values != NULL && i < job_count; i++) {
        all[i].job = jobs[i];
        all[i].number = (uint32_t)i + 1;
        first = add_stretches(&all[i], stretches, first);
        add_unrecorded(&all[i]);
        if (runtime > 0 && all[i].ran > runtime)
            all[i].times[CAUSE_OVERRUN] = all[i].ran - runtime;
    }
    if (all != NULL && values != NULL) {
        find_usual(all, job_count, values, usual);
        *late_count = keep_late(all, job_count);
    }
    for (size_t i = 0; i < *late_count; i++) {
        weigh(&all[i], runtime, usual);
        put_in_order(&all[i]);
    }
    free(values);
    return all != NULL && values != NULL;
}
