/* How much time rtf muse takes from the threads that it measures.
 *
 *   muse-disturbance work DIR ROUNDS   the same work, of 10,000 jobs a second, in turns: bare; with marks; and with marks that the watcher
 *                                      writes to files in DIR meanwhile. The machine takes the same from all three.
 *   muse-disturbance clock SECONDS     a loop that only reads the clock. Prints marks for rtf muse import, as if each 100 us of its time
 *                                      were a job: any program would see this supply on this machine at this time. Gaps count as for phases of the kind w.
 *
 * As root, the threads run under SCHED_DEADLINE with all of a CPU. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "muse/drain.h"
#include "muse/load.h"
#include "muse/phases.h"
#include "schedattr.h"

enum arm { BARE, MARKED, DRAINED, ARMS };
/* Windows are short, so that the machine takes about the same time from one window and the next.
 * Marks are therefore taken away 25 times as often as in rtf muse run. */
enum {
    ROUNDS_MOST = 10000,
    JOBS = 100,
    DRAIN_EVERY_MS = 10,
    TRIES_WHEN_BUSY = 100,
    GAPS_MOST = 1 << 20
};
#define JOB INT64_C(100000) /* ns */
#define GAP INT64_C(100000) /* ns, as in phases.c */

/* The two processes share this, beside the load. */
struct turns {
    _Atomic int arm;                 /* the kind of the current window; -1: none */
    sem_t emptied;                   /* the watcher has thrown away the remaining marks */
    int64_t took[ARMS][ROUNDS_MOST]; /* ns */
};

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void rest(void)
{
    const struct timespec some = {.tv_nsec = 20000000};
    (void)nanosleep(&some, NULL);
}

static int fail(const char *what)
{
    fprintf(stderr, "muse-disturbance: %s: %s\n", what, strerror(errno));
    return EXIT_FAILURE;
}

/* The kernel frees the bandwidth of earlier threads some time after their end. */
static bool have_a_cpu(void)
{
    const struct kernel_sched_attr all = {.size = sizeof all,
                                          .policy = SCHED_DEADLINE,
                                          .runtime = 100000000,
                                          .deadline = 100000000,
                                          .period = 100000000};
    (void)mlockall(MCL_CURRENT | MCL_FUTURE);
    for (int try = 0; geteuid() == 0 && sched_setattr_of(0, &all) != 0; try++) {
        if (errno != EBUSY || try == TRIES_WHEN_BUSY)
            return false;
        rest();
    }
    return true;
}

/* ---- work ---- */

/* As in the load program's jobs: a mark is the only work for rtf muse. */
static int64_t window(struct load_thread *thread, const struct body *body,
                      struct resources *resources, bool marked)
{
    const int64_t begin = now();
    for (uint32_t job = 0; job < JOBS; job++) {
        if (marked && !ring_put(&thread->ring,
                                (struct mark){now() - begin, job, (uint16_t)sched_getcpu(), 0}))
            atomic_fetch_add_explicit(&thread->dropped, 1, memory_order_relaxed);
        (void)body_run(body, resources, 0);
    }
    return now() - begin;
}

static void end_window(struct turns *turns, int ended)
{
    atomic_store(&turns->arm, -1);
    (void)eventfd_write(ended, 1);
    while (sem_wait(&turns->emptied) != 0) {
    }
}

static int do_work(struct load *load, struct turns *turns, int rounds, int ended)
{
    struct phase phase = {.name = "c", .kind = PHASE_COMPUTE, .loops = 100000};
    struct step step = {.phase = &phase};
    const struct body body = {.steps = &step, .count = 1};
    struct resources resources = {0};
    phase.loops = phase.loops * JOB / body_cost(&body, &resources);
    ring_touch(&load->thread[0].ring);
    if (!have_a_cpu())
        return fail("SCHED_DEADLINE");
    for (int i = 0; i < rounds * ARMS; i++) {
        /* the kinds of windows take turns in such an order that each kind comes after each other
         * kind */
        const enum arm arm = (enum arm)((i + i / ARMS) % ARMS);
        atomic_store(&turns->arm, arm);
        turns->took[arm][i / ARMS] = window(&load->thread[0], &body, &resources, arm != BARE);
        end_window(turns, ended);
    }
    return EXIT_SUCCESS;
}

/* Between two windows the remaining marks are thrown away, so that each window begins with an empty
 * log. */
static void watch(struct drain *drain, struct turns *turns, int timer, int ended, int worker)
{
    struct ring *ring = &drain->load->thread[0].ring;
    const struct mark *marks;
    struct pollfd fds[] = {{.fd = timer, .events = POLLIN},
                           {.fd = ended, .events = POLLIN},
                           {.fd = worker, .events = POLLIN}};
    while (fds[2].revents == 0) {
        uint64_t count;
        (void)poll(fds, 3, -1);
        if (fds[0].revents != 0 && read(timer, &count, sizeof count) > 0 &&
            atomic_load(&turns->arm) == DRAINED)
            (void)drain_all(drain);
        if (fds[1].revents == 0)
            continue;
        (void)!read(ended, &count, sizeof count);
        while ((count = ring_look(ring, &marks)) > 0)
            ring_took(ring, count);
        sem_post(&turns->emptied);
    }
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Compares each window with the bare window of its round, so that a slow minute is slow for both.
 * The range is the 95 % confidence interval of the median: a half and two standard deviations of
 * the number of rounds below the median. The median does not show rare and long pauses; the mean
 * shows them, with its own standard deviations. */
static void tell(const char *what, const struct turns *turns, enum arm with, enum arm without,
                 int rounds)
{
    static double more[ROUNDS_MOST];
    const int middle = rounds / 2, apart = (int)ceil(0.98 * sqrt(rounds));
    double usual = 0, mean = 0, squares = 0;
    for (int i = 0; i < rounds; i++)
        usual += (double)turns->took[without][i] / rounds;
    for (int i = 0; i < rounds; i++) {
        more[i] = 100.0 * (double)(turns->took[with][i] - turns->took[without][i]) / usual;
        mean += more[i] / rounds;
    }
    for (int i = 0; i < rounds; i++)
        squares += (more[i] - mean) * (more[i] - mean) / rounds;
    qsort(more, (size_t)rounds, sizeof *more, compare);
    printf(
        "%s %+.3f %% (median of %d rounds; %+.3f to %+.3f with a probability of 95 %%); mean %+.3f +- %.3f\n",
        what, more[middle], rounds, more[middle > apart ? middle - apart : 0],
        more[middle + apart < rounds ? middle + apart : rounds - 1], mean,
        1.96 * sqrt(squares / rounds));
}

static int make_turns(const char *directory, struct drain *drain, struct turns **turns, int *timer,
                      int *ended)
{
    const struct itimerspec every = {{0, DRAIN_EVERY_MS * 1000000L},
                                     {0, DRAIN_EVERY_MS * 1000000L}};
    struct load *load = load_make(1);
    const int at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *turns = mmap(NULL, sizeof **turns, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    *timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    *ended = eventfd(0, EFD_CLOEXEC);
    return load != NULL && at >= 0 && *turns != MAP_FAILED && *timer >= 0 && *ended >= 0 &&
           sem_init(&(*turns)->emptied, 1, 0) == 0 && drain_to_files(load, at, drain) &&
           timerfd_settime(*timer, 0, &every, NULL) == 0;
}

static int work(const char *directory, int rounds)
{
    struct drain drain;
    struct turns *turns;
    int timer, ended, status;
    if (rounds < 1 || rounds > ROUNDS_MOST)
        errno = ERANGE;
    if (rounds < 1 || rounds > ROUNDS_MOST ||
        !make_turns(directory, &drain, &turns, &timer, &ended))
        return fail("work");
    atomic_store(&turns->arm, -1);
    const pid_t worker = fork();
    if (worker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(do_work(drain.load, turns, rounds, ended));
    }
    watch(&drain, turns, timer, ended, (int)syscall(SYS_pidfd_open, worker, 0));
    if (waitpid(worker, &status, 0) != worker || status != 0)
        return EXIT_FAILURE;
    tell("the same work takes with marks", turns, MARKED, BARE, rounds);
    tell("and with who takes them away, more than that by", turns, DRAINED, MARKED, rounds);
    tell("both together", turns, DRAINED, BARE, rounds);
    printf("%d marks lost of %d\n", (int)atomic_load(&drain.load->thread[0].dropped),
           rounds * JOBS * 2);
    return EXIT_SUCCESS;
}

/* ---- clock ---- */

static struct gap {
    int64_t at, length;
} gaps[GAPS_MOST];

static size_t read_the_clock(int64_t begin, int64_t end)
{
    size_t count = 0;
    for (int64_t before = begin; before < end && count < GAPS_MOST;) {
        const int64_t time = now();
        if (time - before >= GAP)
            gaps[count++] = (struct gap){before, time - before};
        before = time;
    }
    return count;
}

/* A job begins when the job before has had its time, without gaps. */
static void print_marks(int64_t begin, int64_t end, size_t count)
{
    int64_t time = begin;
    size_t gap = 0;
    for (int job = 0; time < end; job++) {
        printf("1,%" PRId64 ".%03d,0,%d\n", (time - begin) / 1000, (int)((time - begin) % 1000),
               job);
        time += JOB;
        for (; gap < count && gaps[gap].at < time; gap++)
            time += gaps[gap].length;
    }
}

static int clock_alone(int seconds)
{
    if (!have_a_cpu())
        return fail("SCHED_DEADLINE");
    const int64_t begin = now(), end = begin + seconds * INT64_C(1000000000);
    print_marks(begin, end, read_the_clock(begin, end));
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "work") == 0)
        return work(argv[2], atoi(argv[3]));
    if (argc == 3 && strcmp(argv[1], "clock") == 0)
        return clock_alone(atoi(argv[2]));
    fprintf(stderr, "Usage: muse-disturbance work DIR ROUNDS | clock SECONDS\n");
    return EXIT_FAILURE;
}
