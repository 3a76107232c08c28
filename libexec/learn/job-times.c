#include "job-times.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Adds up the bursts that begin in a period, and returns the number of jobs in them. This is 1, or
 * 0 if no burst begins in the period. It is more than 1 if the last burst lasts into later periods
 * in which no burst begins: a late job does not sleep before the next job, so several jobs are one
 * burst. */
static size_t take_period(const struct bursts *bursts, const struct rhythm *rhythm, size_t period,
                          size_t *at, int64_t *ran, bool *is_doubtful)
{
    const size_t first = *at;
    size_t jobs = 1;
    *ran = 0;
    *is_doubtful = false;
    for (; *at < bursts->count && bursts->list[*at].begin < rhythm->begins[period + 1]; ++*at) {
        *ran += bursts->list[*at].ran;
        *is_doubtful |= bursts->list[*at].is_doubtful;
    }
    if (*at == first)
        return 0;
    const int64_t end = bursts->list[*at - 1].end;
    const int64_t next = *at < bursts->count ? bursts->list[*at].begin : INT64_MAX;
    while (period + jobs + 1 < rhythm->count && rhythm->begins[period + jobs + 1] <= next &&
           rhythm->begins[period + jobs] + rhythm->period / 2 < end)
        jobs++;
    return jobs;
}

/* Stores the CPU time of each job into `jobs`, and returns the number of jobs. */
static size_t add_up(const struct bursts *bursts, const struct rhythm *rhythm, int64_t *jobs)
{
    size_t at = 0, count = 0;
    while (at < bursts->count && bursts->list[at].begin < rhythm->begins[0])
        at++;
    for (size_t period = 0; period + 1 < rhythm->count;) {
        int64_t ran;
        bool is_doubtful;
        const size_t taken = take_period(bursts, rhythm, period, &at, &ran, &is_doubtful);
        for (size_t i = 0; i < taken && period > 0 && !is_doubtful; i++)
            jobs[count++] = ran / (int64_t)taken;
        period += taken > 0 ? taken : 1;
    }
    return count;
}

bool job_times_measure(const struct bursts *bursts, const struct rhythm *rhythm,
                       struct job_times *times)
{
    int64_t sum = 0;
    int64_t *jobs = calloc(rhythm->count + 1, sizeof *jobs);
    const size_t count = jobs == NULL ? 0 : add_up(bursts, rhythm, jobs);
    *times = (struct job_times){.jobs = count};
    if (count > 0) {
        qsort(jobs, count, sizeof *jobs, compare);
        for (size_t i = 0; i < count; i++)
            sum += jobs[i];
        times->mean = sum / (int64_t)count;
        times->percentile_99 = jobs[(count * 99 + 99) / 100 - 1];
        times->longest = jobs[count - 1];
    }
    free(jobs);
    return count > 0;
}
