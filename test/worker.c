/* A thread with a known rhythm, and what is true of it. Until SIGTERM it works for RUNTIME in each
 * period, and for up to VARIATION more. At the end it writes the truth to FILE, as JSON.
 *
 *   worker FILE clock PERIOD RUNTIME VARIATION     sleeps until multiples of the period
 *   worker FILE poll PERIOD RUNTIME VARIATION      sleeps for the period after each job, in poll(2)
 *   worker FILE random PERIOD RUNTIME VARIATION    sleeps for random times, PERIOD in the mean
 *   worker FILE event PERIOD RUNTIME VARIATION     another process wakes it at such random times
 *   worker FILE hog                                never sleeps
 *   worker FILE sleep                              never wakes up
 *
 * After SIGUSR1 each job takes twice the runtime, and after SIGUSR2 half of it. Times are in us. Random numbers are the same in each run. */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MAX = 1000000 };

static struct {
    int64_t period, runtime, variation; /* ns */
    int64_t jobs[JOBS_MAX];
    size_t count;
    int64_t first, last; /* when the first job began, and the last */
    int input;           /* a byte comes here for each job, for the kind "event" */
} worker;
static volatile sig_atomic_t ends;

static void on_end(int number)
{
    (void)number;
    ends = 1;
}

static void on_scene(int number)
{
    worker.runtime = number == SIGUSR1 ? worker.runtime * 2 : worker.runtime / 2;
}

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void sleep_until(int64_t time)
{
    const struct timespec wait = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wait, NULL);
}

static int64_t at_random(void)
{
    return (int64_t)(-log(1 - drand48()) * (double)worker.period);
}

static void work(void)
{
    const int64_t more = worker.variation > 0 ? lrand48() % worker.variation : 0;
    const int64_t until = now(CLOCK_THREAD_CPUTIME_ID) + worker.runtime + more;
    while (now(CLOCK_THREAD_CPUTIME_ID) < until)
        for (volatile int i = 0; i < 200; i++)
            ;
}

static void rest(const char *kind, int64_t activation)
{
    char byte;
    if (strcmp(kind, "clock") == 0)
        sleep_until(activation);
    else if (strcmp(kind, "poll") == 0)
        (void)poll(NULL, 0, (int)(worker.period / 1000000));
    else if (strcmp(kind, "event") == 0)
        ends |= read(worker.input, &byte, 1) != 1;
    else
        sleep_until(now(CLOCK_MONOTONIC) + at_random());
}

static void run(const char *kind)
{
    int64_t activation = now(CLOCK_MONOTONIC);
    worker.first = activation;
    while (!ends && worker.count < JOBS_MAX) {
        const int64_t began = now(CLOCK_THREAD_CPUTIME_ID);
        worker.last = now(CLOCK_MONOTONIC);
        work();
        activation += worker.period;
        rest(kind, activation);
        worker.jobs[worker.count++] = now(CLOCK_THREAD_CPUTIME_ID) - began;
    }
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int write_truth(const char *file)
{
    FILE *stream = fopen(file, "w");
    if (stream == NULL || worker.count < 2)
        return 1;
    qsort(worker.jobs, worker.count, sizeof *worker.jobs, compare);
    fprintf(
        stream,
        "{\"jobs\": %zu, \"period_ns\": %lld, \"percentile_99_ns\": %lld, \"longest_ns\": %lld}\n",
        worker.count, (long long)(worker.last - worker.first) / (long long)(worker.count - 1),
        (long long)worker.jobs[(worker.count * 99 + 99) / 100 - 1],
        (long long)worker.jobs[worker.count - 1]);
    return fclose(stream) != 0;
}

/* Starts the process that wakes this one. */
static void start_waker(void)
{
    int ends_of_pipe[2];
    if (pipe(ends_of_pipe) != 0)
        exit(1);
    worker.input = ends_of_pipe[0];
    const pid_t parent = getpid();
    if (fork() != 0) {
        close(ends_of_pipe[1]);
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent && write(ends_of_pipe[1], "", 1) == 1)
        sleep_until(now(CLOCK_MONOTONIC) + at_random());
    _exit(0);
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = on_end};
    const struct sigaction scene = {.sa_handler = on_scene, .sa_flags = SA_RESTART};
    if (argc < 3)
        return 64;
    const char *kind = argv[2];
    worker.period = argc > 3 ? atoll(argv[3]) * 1000 : 0;
    worker.runtime = argc > 4 ? atoll(argv[4]) * 1000 : 0;
    worker.variation = argc > 5 ? atoll(argv[5]) * 1000 : 0;
    srand48(7);
    if (strcmp(kind, "event") == 0)
        start_waker();
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &scene, NULL);
    sigaction(SIGUSR2, &scene, NULL);
    while (!ends && strcmp(kind, "hog") == 0)
        ;
    while (!ends && strcmp(kind, "sleep") == 0)
        pause();
    if (worker.period > 0)
        run(kind);
    return worker.period > 0 ? write_truth(argv[1]) : 0;
}
