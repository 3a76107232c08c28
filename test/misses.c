/* Makes jobs late, each for one known cause, for the tests of rtf-why(1).
 *
 * misses victim SHARED COLD CAUSES COUNT: waits until the file SHARED says go, and then has a job
 *     each 20 ms, with a relative deadline of 15 ms. Each eighth job is late, for one of the causes
 *     in turn. Prints a line for each of these: CAUSE RELEASE END, ns of CLOCK_MONOTONIC. After
 *     COUNT such jobs it prints the line "end", and sleeps.
 * misses go SHARED: says go.
 * misses other SHARED CPU...: helps the victims from a process of another user. Prints the id of the
 *     thread that takes the CPU from a victim of lower priority.
 *
 * The causes are letters:
 *     o  the job runs longer than its runtime
 *     l  another thread of the victim's process has the lock
 *     n  a thread that the victim has just made has the lock
 *     a  the other process has the lock
 *     p  the job reads pages of the file COLD, which are not in memory
 *     i  many timers of the other process expire at the same time
 *     h  a thread of the other process takes the CPU
 *     s  a process stops the victim by a signal */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define MS INT64_C(1000000) /* ns */

enum {
    PERIOD = 20,
    DEADLINE = 15,
    LONG = 9, /* with an interrupt of 5 ms or more, such a job is late */
    NEEDED = 1,
    TOO_LONG = 18,
    HELD = 45,
    JOBS_BEFORE = 7,
    TIMERS = 30000,
    PAGE = 4096
};

struct shared {
    atomic_uint order; /* counts orders; a futex */
    atomic_int cause;
    atomic_llong at;     /* the release of the job that shall be late */
    atomic_uint taken;   /* the number of the last order that is obeyed */
    atomic_uint stopped; /* the number of the last order by which a process has been stopped */
    atomic_uint goes;    /* set by the test; a futex */
    pthread_mutex_t lock;
    atomic_bool is_made;
};

static struct shared *shared;

/* ---- time and work ---- */

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000 * MS + time.tv_nsec;
}

static void sleep_until(int64_t time)
{
    const struct timespec then = {.tv_sec = time / (1000 * MS), .tv_nsec = time % (1000 * MS)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL) != 0)
        ;
}

static uint64_t loops_in_ms;

static void loop(uint64_t count)
{
    for (volatile uint64_t i = 0; i < count; i++)
        ;
}

/* Takes the shortest of several measurements: others may have had the CPU meanwhile. */
static void calibrate(void)
{
    enum { LOOPS = 1000000, ROUNDS = 20 };
    int64_t best = INT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        const int64_t begin = now();
        loop(LOOPS);
        if (now() - begin < best)
            best = now() - begin;
    }
    loops_in_ms = (uint64_t)(LOOPS * MS / best);
}

static int64_t cpu_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000 * MS + time.tv_nsec;
}

static void use_cpu_time(int64_t time)
{
    const int64_t end = cpu_time() + time;
    while (cpu_time() < end) /* each call is two records */
        loop(loops_in_ms / 10);
}

static void futex_wait(atomic_uint *word, unsigned value)
{
    (void)syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void futex_wake(atomic_uint *word)
{
    (void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void fail(const char *what)
{
    perror(what);
    _exit(EX_OSERR);
}

static void *map(const char *path, size_t size, int protection)
{
    const int fd = open(path, (protection & PROT_WRITE) != 0 ? O_RDWR : O_RDONLY);
    void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        fail(path);
    close(fd);
    return memory;
}

/* ---- orders ---- */

/* Waits for the next order for one of the causes. Returns its number. */
static unsigned next_order(const char *causes, unsigned last)
{
    for (;;) {
        const unsigned order = atomic_load(&shared->order);
        if (order != last && strchr(causes, atomic_load(&shared->cause)) != NULL)
            return order;
        futex_wait(&shared->order, order);
        if (order != last)
            last = order;
    }
}

static void hold(pthread_mutex_t *lock, unsigned order)
{
    pthread_mutex_lock(lock);
    atomic_store(&shared->taken, order);
    sleep_until(atomic_load(&shared->at) + HELD * MS);
    pthread_mutex_unlock(lock);
}

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;

static void *hold_own(void *unused)
{
    (void)prctl(PR_SET_NAME, "own-holder");
    for (unsigned order = 0; (order = next_order("l", order)) != 0;)
        hold(&own_lock, order);
    return unused;
}

static void *hold_once(void *unused)
{
    (void)prctl(PR_SET_NAME, "new-holder");
    hold(&own_lock, atomic_load(&shared->order));
    return unused;
}

static void *hold_shared(void *unused)
{
    (void)prctl(PR_SET_NAME, "others-holder");
    for (unsigned order = 0; (order = next_order("a", order)) != 0;)
        hold(&shared->lock, order);
    return unused;
}

static void *take_cpu(void *unused)
{
    (void)prctl(PR_SET_NAME, "others-hog");
    printf("%d\n", (int)gettid());
    fflush(stdout);
    for (unsigned order = 0; (order = next_order("h", order)) != 0;) {
        const int64_t at = atomic_load(&shared->at);
        atomic_store(&shared->taken, order);
        sleep_until(at - MS);
        while (now() < at + HELD * MS / 2)
            ;
    }
    return unused;
}

/* Returns how many timers there are: a process may have only so many files. */
static int make_timers(int *timers)
{
    struct rlimit files;
    int count = 0;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    while (count < TIMERS && (timers[count] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) >= 0)
        count++;
    return count;
}

/* Timers expire on the CPU on which they are set. */
static void storm(int cpu)
{
    static int timers[TIMERS];
    const int count = make_timers(timers);
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET((size_t)cpu, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        fail("sched_setaffinity");
    for (unsigned order = 0; (order = next_order("i", order)) != 0;) {
        const int64_t at = atomic_load(&shared->at) + MS / 2;
        const struct itimerspec time = {
            .it_value = {.tv_sec = at / (1000 * MS), .tv_nsec = at % (1000 * MS)}};
        for (int i = 0; i < count; i++)
            (void)timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &time, NULL);
        if (now() < at)
            atomic_store(&shared->taken, order);
    }
}

/* Two processes have enough timers. */
static void start_storms(int cpu)
{
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            storm(cpu);
            _exit(EX_OK);
        }
}

static void stop_process(pid_t process)
{
    for (unsigned order = 0; (order = next_order("s", order)) != 0;) {
        const int64_t at = atomic_load(&shared->at);
        atomic_store(&shared->taken, order);
        sleep_until(at + MS / 2);
        kill(process, SIGSTOP);
        atomic_store(&shared->stopped, order);
        sleep_until(at + HELD * MS);
        kill(process, SIGCONT);
    }
}

static void start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument) != 0)
        fail("pthread_create");
}

/* ---- jobs ---- */

static struct {
    const char *cold;
    char *memory;
    size_t pages, next;
} file;

/* Has the kernel forget the file. */
static void cool(void)
{
    const int fd = open(file.cold, O_RDONLY);
    (void)madvise(file.memory, file.pages * PAGE, MADV_DONTNEED);
    (void)madvise(file.memory, file.pages * PAGE, MADV_RANDOM);
    if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        fail(file.cold);
    close(fd);
}

static void read_pages(int64_t until)
{
    while (now() < until) {
        (void)*(volatile char *)&file.memory[file.next % file.pages * PAGE];
        file.next += 257; /* no neighbour, which the disk may have read, too */
    }
}

static void use_lock(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

/* Runs until this process has been stopped, which the other process notes behind the signal. */
static void wait_for_stop(int64_t until)
{
    while (atomic_load(&shared->stopped) != atomic_load(&shared->order) && now() < until)
        ;
}

static void be_late(int cause, int64_t release)
{
    if (cause == 'o')
        use_cpu_time(TOO_LONG * MS);
    else if (cause == 's')
        wait_for_stop(release + PERIOD * MS / 2);
    else if (cause == 'i')
        loop(LONG * loops_in_ms);
    else if (cause == 'l' || cause == 'n')
        use_lock(&own_lock);
    else if (cause == 'a')
        use_lock(&shared->lock);
    else if (cause == 'p')
        read_pages(release + PERIOD * MS + 4 * MS);
    loop(NEEDED * loops_in_ms);
}

static void give_order(int cause, int64_t at)
{
    atomic_store(&shared->at, at);
    atomic_store(&shared->cause, cause);
    atomic_fetch_add(&shared->order, 1);
    futex_wake(&shared->order);
    if (cause == 'p')
        cool();
    if (cause == 'n')
        start(hold_once, NULL);
}

/* A file in memory, or on a disk that answers at once, makes no thread wait: reading it only takes
 * CPU time. */
static bool was_spared(int cause, int64_t used, int64_t took)
{
    return cause == 'p' && used > took / 2;
}

/* Returns the first release after the end of the last job. */
static int64_t late_job(int cause, int64_t release)
{
    const bool needs_help = strchr("lnaihs", cause) != NULL;
    give_order(cause, release + JOBS_BEFORE * (PERIOD * MS));
    for (int i = 0; i < JOBS_BEFORE; i++) {
        loop(NEEDED * loops_in_ms);
        release += PERIOD * MS;
        sleep_until(release);
    }
    const bool is_taken = !needs_help || atomic_load(&shared->taken) == atomic_load(&shared->order);
    const int64_t before = cpu_time();
    be_late(cause, release);
    const int64_t end = now();
    if (is_taken && end - release > DEADLINE * MS &&
        !was_spared(cause, cpu_time() - before, end - release))
        printf("%c %lld %lld\n", cause, (long long)release, (long long)end);
    else
        fprintf(stderr, "misses: %c: %s, %lld us\n", cause, is_taken ? "in time" : "no help",
                (long long)((end - release) / 1000));
    while (release <= now())
        release += PERIOD * MS;
    sleep_until(release);
    return release;
}

static int victim(char **arguments)
{
    const char *causes = arguments[1];
    const int count = atoi(arguments[2]);
    struct stat status;
    file.cold = arguments[0];
    if (stat(file.cold, &status) != 0)
        fail(file.cold);
    file.pages = (size_t)status.st_size / PAGE;
    file.memory = map(file.cold, file.pages * PAGE, PROT_READ);
    const pid_t own = getpid();
    if (fork() == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        stop_process(own);
    }
    start(hold_own, NULL);
    calibrate();
    while (atomic_load(&shared->goes) == 0)
        futex_wait(&shared->goes, 0);
    int64_t release = (now() / (PERIOD * MS) + 2) * PERIOD * MS;
    sleep_until(release);
    for (int i = 0; i < count; i++)
        release = late_job(causes[(size_t)i % strlen(causes)], release);
    puts("end");
    fflush(stdout);
    while (pause() != 0) /* of a thread that has ended, a user may not hear all */
        ;
    return EX_OK;
}

static int other(char **cpus)
{
    for (; *cpus != NULL; cpus++)
        start_storms(atoi(*cpus));
    start(take_cpu, NULL);
    start(hold_shared, NULL);
    while (pause() != 0)
        ;
    return EX_OK;
}

static void prepare_lock(void)
{
    pthread_mutexattr_t attributes;
    if (atomic_exchange(&shared->is_made, true))
        return;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &attributes);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return EX_USAGE;
    shared = map(argv[2], sizeof *shared, PROT_READ | PROT_WRITE);
    prepare_lock();
    if (strcmp(argv[1], "go") == 0) {
        atomic_store(&shared->goes, 1);
        futex_wake(&shared->goes);
        return EX_OK;
    }
    if (strcmp(argv[1], "victim") == 0 && argc == 6)
        return victim(argv + 3);
    return strcmp(argv[1], "other") == 0 ? other(argv + 3) : EX_USAGE;
}
