/* periodic - the load of an experiment, and its results
 *
 *     periodic job BURN PERIOD    a well-behaved task: BURN us of CPU time at each release
 *     periodic spin               a greedy one, or a hog: never sleeps
 *
 * Says `ready`, reads `START END` (ns of CLOCK_MONOTONIC) from standard input, runs, and then
 * prints, in ns of that clock:
 *
 *     job RELEASE BEGUN COMPLETED CPU    one activation; CPU is what the thread was charged since the last one
 *     ran FROM TO                        it had the CPU without a gap of GAP or more
 *     used CPU                           between START and END
 *
 * A job is over when the thread's own CPU clock says so: that is the clock by which the kernel
 * charges the runtime. Time of an interrupt while the thread runs is therefore charged to the
 * thread; time of the hypervisor is not, if the kernel knows about it. Nothing is printed or
 * allocated between START and END. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "units.h"

/* GAP is in ns. JOBS and STRETCHES are so small that `record` is below 8 MB, because most users may
 * lock only 8 MB of memory. */
enum { GAP = 30000, JOBS = 1 << 15, STRETCHES = 1 << 18 };

struct job {
    uint64_t release, begun, completed, cpu;
};

struct stretch {
    uint64_t from, to;
};

static struct {
    struct job job[JOBS];
    struct stretch ran[STRETCHES];
    size_t jobs, stretches;
} record;

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void fail(const char *why)
{
    fprintf(stderr, "periodic: %s\n", why);
    exit(1);
}

static void begin_stretch(uint64_t time)
{
    if (record.stretches == STRETCHES)
        fail("more stretches than there is room for");
    record.ran[record.stretches++] = (struct stretch){time, time};
}

/* Uses the CPU until the thread has used `cpu` of it, or until `end`. Returns the time. */
static uint64_t burn(uint64_t cpu, uint64_t end)
{
    uint64_t limit = now(CLOCK_THREAD_CPUTIME_ID) + cpu, time = now(CLOCK_MONOTONIC);
    begin_stretch(time);
    while (time < end && now(CLOCK_THREAD_CPUTIME_ID) < limit) {
        time = now(CLOCK_MONOTONIC);
        if (time - record.ran[record.stretches - 1].to >= GAP)
            begin_stretch(time);
        record.ran[record.stretches - 1].to = time;
    }
    return time;
}

static void sleep_until(uint64_t time)
{
    struct timespec when = {.tv_sec = (time_t)(time / 1000000000),
                            .tv_nsec = (long)(time % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) != 0)
        continue;
}

static void run_jobs(uint64_t cpu, uint64_t period, uint64_t start, uint64_t end)
{
    uint64_t charged = now(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t release = start; release < end; release += period) {
        if (record.jobs == JOBS)
            fail("more jobs than there is room for");
        sleep_until(release);
        struct job *job = &record.job[record.jobs++];
        job->release = release;
        job->begun = now(CLOCK_MONOTONIC);
        job->completed = burn(cpu, UINT64_MAX);
        job->cpu = now(CLOCK_THREAD_CPUTIME_ID) - charged;
        charged += job->cpu;
    }
}

static void print_record(uint64_t used)
{
    for (size_t i = 0; i < record.jobs; i++) {
        const struct job *job = &record.job[i];
        printf("job %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", job->release, job->begun,
               job->completed, job->cpu);
    }
    for (size_t i = 0; i < record.stretches; i++)
        printf("ran %" PRIu64 " %" PRIu64 "\n", record.ran[i].from, record.ran[i].to);
    printf("used %" PRIu64 "\n", used);
}

int main(int argc, char **argv)
{
    uint64_t burn_us = 0, period_us = 0, start, end;
    char line[64];
    bool greedy = argc == 2 && strcmp(argv[1], "spin") == 0;
    if (!greedy &&
        (argc != 4 || strcmp(argv[1], "job") != 0 || !parse_number(argv[2], TIME_MAX, &burn_us) ||
         !parse_number(argv[3], TIME_MAX, &period_us) || period_us == 0))
        fail("usage: periodic job BURN PERIOD | periodic spin");

    memset(&record, 0, sizeof record); /* touches the pages before they are needed */
    mlockall(MCL_CURRENT);             /* locks as much as an ordinary user may */
    puts("ready");
    if (fflush(stdout) != 0 || fgets(line, sizeof line, stdin) == NULL)
        return 0;
    if (sscanf(line, "%" SCNu64 " %" SCNu64, &start, &end) != 2)
        fail("START and END are missing");

    uint64_t before = now(CLOCK_THREAD_CPUTIME_ID);
    if (!greedy)
        run_jobs(burn_us * 1000, period_us * 1000, start, end);
    else {
        sleep_until(start);
        burn(UINT64_MAX / 2, end);
    }
    print_record(now(CLOCK_THREAD_CPUTIME_ID) - before);
    return fflush(stdout) == 0 ? 0 : 1;
}
