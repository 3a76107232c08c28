/* jobs - periodic work of a known amount, and when each piece of it was done
 *
 * usage: jobs EPOCH CYCLE COUNT START:WORK...      (all in us; EPOCH on CLOCK_MONOTONIC)
 *
 * In each of COUNT cycles, for each START:WORK in turn: sleep until EPOCH + cycle * CYCLE + START,
 * then use up WORK of this thread's own CPU time, as the rt-app of paper 002 did. A job whose time
 * has passed begins at once. At the end, or at SIGTERM, prints `ACTIVATION BEGIN END` of each job
 * that was finished, in us after EPOCH. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>

enum { US_PER_S = 1000000, NS_PER_US = 1000, DECIMAL = 10, JOBS_MAX = 100000, FIRST_JOB = 4 };

struct job {
    int64_t activation, begin, end;
};

static struct job done[JOBS_MAX];
static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
    (void)signal_number;
    stopped = 1;
}

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * US_PER_S + time.tv_nsec / NS_PER_US;
}

static void sleep_until(int64_t when)
{
    struct timespec time = {.tv_sec = when / US_PER_S, .tv_nsec = when % US_PER_S * NS_PER_US};
    while (!stopped && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
        ;
}

static void use_up(int64_t work)
{
    int64_t enough = now(CLOCK_THREAD_CPUTIME_ID) + work;
    while (!stopped && now(CLOCK_THREAD_CPUTIME_ID) < enough)
        ;
}

static int64_t number(const char *text, char end)
{
    char *rest;
    errno = 0;
    int64_t value = strtoll(text, &rest, DECIMAL);
    if (errno != 0 || rest == text || *rest != end || value < 0) {
        (void)fprintf(stderr, "jobs: not a time in us: %s\n", text);
        exit(EX_USAGE);
    }
    return value;
}

static void do_job(struct job *job, int64_t epoch, int64_t work)
{
    sleep_until(epoch + job->activation);
    job->begin = now(CLOCK_MONOTONIC) - epoch;
    use_up(work);
    job->end = now(CLOCK_MONOTONIC) - epoch;
}

int main(int argc, char **argv)
{
    if (argc <= FIRST_JOB) {
        (void)fputs("usage: jobs EPOCH CYCLE COUNT START:WORK...\n", stderr);
        return EX_USAGE;
    }
    int64_t epoch = number(argv[1], '\0'), cycle = number(argv[2], '\0'),
            count = number(argv[3], '\0');
    if (count * (argc - FIRST_JOB) > JOBS_MAX) {
        (void)fprintf(stderr, "jobs: more than %d jobs\n", JOBS_MAX);
        return EX_USAGE;
    }
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGTERM, &action, NULL);
    memset(done, 1, sizeof done); /* no page fault comes later */
    int jobs = 0;
    for (int64_t turn = 0; turn < count && !stopped; turn++)
        for (int argument = FIRST_JOB; argument < argc && !stopped; argument++) {
            const char *colon = strchr(argv[argument], ':');
            done[jobs].activation = turn * cycle + number(argv[argument], ':');
            do_job(&done[jobs], epoch, number(colon + 1, '\0'));
            jobs += !stopped;
        }
    for (int job = 0; job < jobs; job++)
        printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", done[job].activation, done[job].begin,
               done[job].end);
    return 0;
}
