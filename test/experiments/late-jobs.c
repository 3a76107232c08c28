/* late-jobs - how many jobs of a periodic thread end after the beginning of the next one
 *
 * usage: late-jobs TID SECONDS
 *
 * Prints JSON: period_ns, jobs, late, longest_ns. The period is found as rtf-learn(1) finds it. A
 * job is expected to begin at the time in its period at which nineteen of twenty jobs have not
 * begun yet. A job that has not ended a period later is late. A period in which no job begins
 * counts as late, too, because the job before has taken its place. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "clock.h"
#include "learn/job-times.h"
#include "learn/rhythm.h"
#include "learn/thread-watch.h"

enum { LOOK = 50 /* ms */, EARLY = 20 };

static void observe(struct thread_watch *watch, int64_t seconds)
{
    const int64_t end = monotonic_now() + seconds * 1000000000;
    while (monotonic_now() < end && !watch->has_ended) {
        (void)poll(NULL, 0, LOOK);
        thread_watch_look(watch, monotonic_now());
    }
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The bursts of each period: when the first begins and the last ends, since the beginning of the
 * period. -1: there is none. */
struct job {
    int64_t begin, end;
};

static void take_bursts(const struct bursts *bursts, const struct rhythm *rhythm, struct job *jobs)
{
    size_t period = 0;
    for (size_t i = 0; i < rhythm->count; i++)
        jobs[i] = (struct job){-1, -1};
    for (size_t i = 0; i < bursts->count; i++) {
        const struct burst *burst = &bursts->list[i];
        if (burst->begin < rhythm->begins[0])
            continue;
        while (period + 1 < rhythm->count && rhythm->begins[period + 1] <= burst->begin)
            period++;
        if (jobs[period].begin < 0)
            jobs[period].begin = burst->begin - rhythm->begins[period];
        jobs[period].end = burst->end - rhythm->begins[period];
    }
}

static int64_t usual_begin(const struct job *jobs, size_t count)
{
    size_t known = 0;
    int64_t *begins = calloc(count + 1, sizeof *begins);
    for (size_t i = 0; i < count; i++)
        if (jobs[i].begin >= 0)
            begins[known++] = jobs[i].begin;
    qsort(begins, known, sizeof *begins, compare);
    const int64_t begin = known == 0 ? 0 : begins[known / EARLY];
    free(begins);
    return begin;
}

/* The last period may not be over. */
static size_t count_late(const struct bursts *bursts, const struct rhythm *rhythm)
{
    size_t late = 0;
    struct job *jobs = calloc(rhythm->count, sizeof *jobs);
    take_bursts(bursts, rhythm, jobs);
    const int64_t begin = usual_begin(jobs, rhythm->count);
    for (size_t i = 0; i + 1 < rhythm->count; i++)
        late += jobs[i].begin < 0 || jobs[i].end > begin + rhythm->period;
    free(jobs);
    return late;
}

int main(int argc, char **argv)
{
    struct thread_watch watch;
    struct rhythm rhythm;
    struct job_times times;
    if (argc != 3) {
        (void)fputs("usage: late-jobs TID SECONDS\n", stderr);
        return EX_USAGE;
    }
    if (!thread_watch_open(&watch, atoi(argv[1]), WATCH_SWITCHES)) {
        (void)fprintf(stderr, "late-jobs: %s: %s\n", argv[1], strerror(errno));
        return EX_NOINPUT;
    }
    observe(&watch, atoi(argv[2]));
    if (!rhythm_find(&watch.bursts, thread_watch_shortest_period(&watch), &rhythm) ||
        !job_times_measure(&watch.bursts, &rhythm, &times)) {
        puts("{\"period_ns\": null}");
        return EX_OK;
    }
    printf("{\"period_ns\": %lld, \"jobs\": %zu, \"late\": %zu, \"longest_ns\": %lld}\n",
           (long long)rhythm.period, rhythm.count - 1, count_late(&watch.bursts, &rhythm),
           (long long)times.longest);
    rhythm_free(&rhythm);
    thread_watch_close(&watch);
    return EX_OK;
}
