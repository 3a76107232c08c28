#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPUS_MAX = UINT16_MAX + 1 };

static bool no_memory(char *why)
{
    snprintf(why, MARKS_WHY, "out of memory");
    return false;
}

/* ---- CPUs ---- */

static bool count_cpus(struct measured *measured)
{
    const struct sequence *sequence = &measured->sequence;
    for (size_t i = 0; i < sequence->seen_count; i++)
        if (sequence->seen[i].cpu >= measured->cpu_count)
            measured->cpu_count = (size_t)sequence->seen[i].cpu + 1;
    measured->cpus = calloc(measured->cpu_count + 1, sizeof *measured->cpus);
    if (measured->cpus == NULL)
        return false;
    for (size_t i = 0; i < sequence->seen_count; i++) {
        measured->cpus[sequence->seen[i].cpu]++;
        measured->migrations += i > 0 && sequence->seen[i].cpu != sequence->seen[i - 1].cpu;
    }
    return true;
}

/* ---- supply ---- */

/* Corrects the longest separations of a thread that makes no marks at the end of the window. The
 * last job had begun, but had not ended at the window's end. So the longest time of k jobs is at
 * least the time from the beginning of the k-th job from the end to the window's end. */
static void heed_silence(struct measured *measured, int64_t end)
{
    struct separations *s = &measured->separations;
    const struct sequence *sequence = &measured->sequence;
    for (size_t i = 1; i < s->count; i++) {
        int64_t silence = end - sequence->times[sequence->count - (size_t)s->jobs[i]];
        s->longest[i] = silence > s->longest[i] ? silence : s->longest[i];
    }
}

static enum outcome outcome_of(const struct sequence *sequence)
{
    switch (sequence->count) {
    case 0: return OUTCOME_NEVER_RAN;
    case 1: return OUTCOME_ONE_MARK;
    default: return sequence->late > 0 || sequence->silent > 0 ? OUTCOME_STARVED : OUTCOME_MEASURED;
    }
}

static bool bound(struct measured *measured, int rate, int64_t horizon)
{
    if (measured->nominal <= 0) {
        measured->outcome = OUTCOME_TOO_COARSE;
        return true;
    }
    if (!supply_compute(&measured->separations, measured->nominal, rate, &measured->supply))
        return false;
    measured->lower = supply_lower_bound(&measured->supply, (double)horizon);
    measured->upper = supply_upper_bound(&measured->supply, (double)horizon);
    measured->joint = supply_joint_bound(&measured->supply);
    measured->blackout = supply_blackout(&measured->supply) / rate;
    return true;
}

/* Measures one thread. The nominal length of a job, (17) of paper 004, is the length of the
 * shortest job, unless the experiment states another length. */
static bool measure_thread(const struct member *member, struct window window, int64_t horizon,
                           struct measured *measured)
{
    const bool supply = (member->modules & MODULE_SUPPLY) != 0,
               statistics = (member->modules & MODULE_STATISTICAL) != 0;
    const struct sequence *sequence = &measured->sequence;
    measured->outcome = outcome_of(sequence);
    if (!count_cpus(measured))
        return false;
    if (sequence->count < 2)
        return true;
    if (!supply && !statistics) {
        measured->nominal = member->nominal;
        return true;
    }
    if (!separations_compute(sequence->times, sequence->count, statistics, SEPARATIONS_EXACT,
                             &measured->separations))
        return false;
    measured->nominal = member->nominal > 0 ? member->nominal : measured->separations.shortest[1];
    if (sequence->silent > 0)
        heed_silence(measured, window.end);
    return !supply || bound(measured, 1, horizon);
}

/* ---- all threads together ---- */

static int by_time(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static size_t count_marks(const struct experiment *experiment,
                          const struct measurement *measurement)
{
    size_t marks = 0;
    for (size_t i = 0; i < experiment->thread_count; i++)
        marks += experiment->threads[i].analysed ? measurement->threads[i].sequence.count : 0;
    return marks;
}

static int64_t shortest_job(const struct sequence *sequence)
{
    int64_t shortest = INT64_MAX;
    for (size_t i = 1; i < sequence->count; i++)
        if (sequence->times[i] - sequence->times[i - 1] < shortest)
            shortest = sequence->times[i] - sequence->times[i - 1];
    return shortest;
}

/* Returns the nominal length of a job for all threads together. Paper 004 treats the marks of all
 * threads alike. The paper's tool takes the shortest job of any thread, and so does this function,
 * because a smaller nominal length gives a safe bound. */
static int64_t common_nominal(const struct experiment *experiment,
                              const struct measurement *measurement)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < experiment->thread_count; i++) {
        const struct measured *measured = &measurement->threads[i];
        if (!experiment->threads[i].analysed || measured->sequence.count < 2)
            continue;
        int64_t nominal = experiment->threads[i].nominal > 0 ? experiment->threads[i].nominal
                                                             : shortest_job(&measured->sequence);
        least = nominal < least ? nominal : least;
    }
    return least == INT64_MAX ? 0 : least;
}

/* Returns the number of CPUs that the threads could use. The experiment may state it. Otherwise the
 * affinities of the threads decide, and without affinities the CPUs on which jobs began. */
static int processors_of(const struct experiment *experiment, const struct measurement *measurement)
{
    cpu_set_t any, seen;
    bool bounded = true;
    CPU_ZERO(&any);
    CPU_ZERO(&seen);
    for (size_t i = 0; i < experiment->thread_count; i++) {
        const struct member *member = &experiment->threads[i];
        const struct measured *measured = &measurement->threads[i];
        if (!member->analysed)
            continue;
        bounded = bounded && member->has_cpus;
        CPU_OR(&any, &any, &member->cpus);
        for (size_t cpu = 0; cpu < measured->cpu_count && cpu < CPU_SETSIZE; cpu++)
            if (measured->cpus[cpu] > 0)
                CPU_SET(cpu, &seen);
    }
    if (experiment->processors > 0)
        return (int)experiment->processors;
    return CPU_COUNT(bounded ? &any : &seen);
}

static int global_rate(const struct experiment *experiment, const struct measurement *measurement)
{
    int threads = 0, processors = processors_of(experiment, measurement);
    for (size_t i = 0; i < experiment->thread_count; i++)
        threads += experiment->threads[i].analysed;
    int rate = threads < processors ? threads : processors;
    return rate < 1 ? 1 : rate;
}

static bool measure_global(const struct experiment *experiment, struct measurement *measurement)
{
    struct measured *global = &measurement->global;
    struct sequence *sequence = &global->sequence;
    sequence->times = malloc((count_marks(experiment, measurement) + 1) * sizeof *sequence->times);
    if (sequence->times == NULL)
        return false;
    for (size_t i = 0; i < experiment->thread_count; i++) {
        const struct sequence *one = &measurement->threads[i].sequence;
        if (!experiment->threads[i].analysed)
            continue;
        memcpy(sequence->times + sequence->count, one->times, one->count * sizeof *one->times);
        sequence->count += one->count;
        sequence->lost += one->lost;
    }
    qsort(sequence->times, sequence->count, sizeof *sequence->times, by_time);
    global->outcome = outcome_of(sequence);
    global->nominal = common_nominal(experiment, measurement);
    if (sequence->count < 2)
        return true;
    return separations_compute(sequence->times, sequence->count, false, SEPARATIONS_EXACT,
                               &global->separations) &&
           bound(global, global_rate(experiment, measurement), measurement->horizon);
}

bool measure(const struct experiment *experiment, const struct records *records, int64_t horizon,
             struct measurement *measurement, char why[static MARKS_WHY])
{
    const int64_t patience = experiment->duration / 10;
    *measurement = (struct measurement){.window = window_of(records, patience),
                                        .horizon = horizon,
                                        .thread_count = experiment->thread_count};
    measurement->threads = calloc(experiment->thread_count + 1, sizeof *measurement->threads);
    if (measurement->threads == NULL)
        return no_memory(why);
    for (size_t i = 0; i < experiment->thread_count; i++) {
        struct measured *measured = &measurement->threads[i];
        if (!sequence_make(&records->threads[i], measurement->window, patience, &measured->sequence,
                           why))
            return false;
        if (!measure_thread(&experiment->threads[i], measurement->window, horizon, measured))
            return no_memory(why);
    }
    measurement->has_global = experiment->global_analysed;
    return !experiment->global_analysed || measure_global(experiment, measurement) ||
           no_memory(why);
}

static void measured_free(struct measured *measured)
{
    sequence_free(&measured->sequence);
    separations_free(&measured->separations);
    supply_free(&measured->supply);
    free(measured->cpus);
}

void measurement_free(struct measurement *measurement)
{
    for (size_t i = 0; i < measurement->thread_count && measurement->threads != NULL; i++)
        measured_free(&measurement->threads[i]);
    free(measurement->threads);
    measured_free(&measurement->global);
    *measurement = (struct measurement){0};
}
