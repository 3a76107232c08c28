/* lenders - a process whose threads lend their rank in a way that hides who lends
 *
 * usage: lenders WAY...
 *
 * The process has two threads, waiter-0 and waiter-1, and the thread mover. Its child, the process
 * `holder`, takes two locks (FUTEX_LOCK_PI), and uses all CPU time that it gets at nice 19. Each
 * waiter sleeps until it is real-time, and then waits for one of the locks, again and again.
 *
 *     moved      the waiters wait at a door, and the mover moves them behind the locks
 *                (FUTEX_CMP_REQUEUE_PI)
 *     gives=N    the holder gives the locks back in turn, one every N us, and takes them again
 *     gives-one  the holder gives one of the locks back after 20 ms, and uses the CPU on. The waiter
 *                that gets the lock sleeps
 *     gives-all  with gives-one: the holder gives the other lock back, too, and then sleeps
 *     takes      with gives-one: the holder gives the other lock back, too. Then the holder waits
 *                for the first lock, and the waiters sleep
 *     again      the holder gives this lock back after each 5 ms, and takes it again
 *     often      with again: after each 1 ms
 *     low        each waiter lowers its priority by one before it waits
 *     lowered    the mover lowers the priority of the waiters by one while they wait
 *     times-out  a timeout wakes each waiting thread after 1 ms. The holder has the only CPU of the
 *                waiting threads, so these cannot run, and wait for the lock as before
 *     throttled  each waiter sleeps until 0.5 ms before its deadline, which is 20 ms after the
 *                beginning of its period. Then it waits, and a timeout wakes it after its deadline.
 *                The kernel throttles the woken thread until its next period, so it waits for the
 *                lock as before, and is awake
 *     idle       the waiters wait for no lock
 *     crowd      the process has 480 further threads, which sleep
 *     strange    the mover waits for a lock, and a timeout ends this wait after 1 ms, again and again
 *     watches    the first thread has the name real when both waiters are SCHED_DEADLINE, and the name
 *                seen when it then sees one that is not
 *     gives-up   a timeout ends each wait after 1 ms, and the waiter then sleeps with the name
 *                gave-up-0 or gave-up-1
 *     real       the holder sleeps until it is real-time before it takes the locks
 *     holder=N   the holder is a process of the user N, and
 *     user=N     the other threads belong to the user N. Root has started the process
 *     rests      the holder sleeps for 10 ms when it has the locks. A thread that waits for a
 *                thread that runs spins in the kernel, and its own runtime is used up
 *     ordinary   the holder then makes itself ordinary after SIGUSR1 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 2 };
static struct shared {
    int lock[LOCKS], door[LOCKS];
    bool taken;
} * shared;
static char **ways;
static pid_t waiters[LOCKS];
static int numbers[LOCKS];

static bool is_way(const char *way)
{
    for (char **one = ways; *one != NULL; one++)
        if (strcmp(*one, way) == 0)
            return true;
    return false;
}

static long number_of(const char *way)
{
    for (char **one = ways; *one != NULL; one++)
        if (strncmp(*one, way, strlen(way)) == 0)
            return atol(*one + strlen(way));
    return 0;
}

/* A process that root has started becomes one of this user. */
static void become(long user)
{
    const uid_t uid = (uid_t)user;
    if (uid != 0 && setresuid(uid, uid, uid) != 0)
        exit(71);
}

static long futex(int *word, int operation, int value, long other, int *second, int third)
{
    return syscall(SYS_futex, word, operation, value, other, second, third);
}

static void take(int *lock)
{
    int nobody = 0;
    if (!__atomic_compare_exchange_n(lock, &nobody, (int)gettid(), false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        (void)futex(lock, FUTEX_LOCK_PI, 0, 0, NULL, 0);
}

static void take_within_a_ms(int *lock)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    (void)futex(lock, FUTEX_LOCK_PI, 0, (long)&until, NULL, 0);
}

static void give(int *lock)
{
    int me = (int)gettid();
    if (!__atomic_compare_exchange_n(lock, &me, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        (void)futex(lock, FUTEX_UNLOCK_PI, 0, 0, NULL, 0);
}

static void sleep_until_real_time(void)
{
    while ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER)
        (void)usleep(1000);
}

static void lower(pid_t tid)
{
    struct sched_param param;
    if (sched_getparam(tid, &param) == 0 && param.sched_priority > 1) {
        param.sched_priority--;
        (void)sched_setparam(tid, &param);
    }
}

static long wait_at_door(int own)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    return futex(&shared->door[own], FUTEX_WAIT_REQUEUE_PI, 0,
                 is_way("throttled") ? (long)&until : 0, &shared->lock[own], 0);
}

static long long milliseconds(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* Called at the beginning of a period, and returns at the beginning of the next one. If the kernel has
 * not throttled the thread during the wait, the thread sleeps until after its deadline: then the
 * kernel throttles it when it wakes. */
static void wait_throttled(int own)
{
    (void)usleep(19500);
    const long long began = milliseconds();
    if (is_way("moved"))
        (void)wait_at_door(own);
    else
        take_within_a_ms(&shared->lock[own]);
    if (milliseconds() - began < 10)
        (void)usleep(30000);
}

static void give_up(int own)
{
    char name[] = "gave-up-0";
    name[sizeof name - 2] = (char)('0' + own);
    take_within_a_ms(&shared->lock[own]);
    (void)prctl(PR_SET_NAME, name);
    for (;;)
        (void)pause();
}

static void *wait_for_lock(void *number)
{
    const int own = *(const int *)number;
    char name[] = "waiter-0";
    name[sizeof name - 2] = (char)('0' + own);
    (void)prctl(PR_SET_NAME, name);
    waiters[own] = (pid_t)gettid();
    sleep_until_real_time();
    while (!shared->taken)
        (void)usleep(1000);
    if (is_way("gives-up"))
        give_up(own);
    while (is_way("idle"))
        (void)pause();
    for (;;) {
        if (is_way("low"))
            lower(0);
        if (is_way("throttled"))
            wait_throttled(own);
        else if (is_way("times-out"))
            take_within_a_ms(&shared->lock[own]);
        else if (!is_way("moved"))
            take(&shared->lock[own]);
        else if (wait_at_door(own) != 0)
            continue;
        while (is_way("gives-one"))
            (void)pause();
        give(&shared->lock[own]);
    }
    return NULL;
}

static void lower_waiters(void)
{
    for (int i = 0; i < LOCKS; i++)
        lower(waiters[i]);
    (void)prctl(PR_SET_NAME, "lowerer");
}

static void *move(void *unused)
{
    (void)prctl(PR_SET_NAME, "mover");
    for (int turns = 0;; turns++) {
        for (int i = 0; i < LOCKS && is_way("moved"); i++)
            (void)futex(&shared->door[i], FUTEX_CMP_REQUEUE_PI, 1, 1, &shared->lock[i], 0);
        if (is_way("lowered") && turns == 1000)
            lower_waiters();
        if (is_way("strange") && shared->taken)
            take_within_a_ms(&shared->lock[0]);
        (void)usleep(is_way("moved") ? 100 : 1000);
    }
    return unused;
}

static long long cpu_time(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static void spin(long microseconds)
{
    for (const long long until = cpu_time() + microseconds; cpu_time() < until;)
        ;
}

static volatile sig_atomic_t signalled;

static void go_on(int number)
{
    (void)number;
    signalled = 1;
}

static void give_and_sleep(int *lock)
{
    give(lock);
    for (;;)
        (void)pause();
}

static void hold(void)
{
    const long gives = number_of("gives=");
    int turns = 0;
    const struct sched_param none = {0};
    cpu_set_t last;
    (void)prctl(PR_SET_NAME, "holder");
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setpriority(PRIO_PROCESS, 0, 19);
    CPU_ZERO(&last);
    CPU_SET(1, &last);
    if (is_way("times-out"))
        (void)sched_setaffinity(0, sizeof last, &last);
    if (is_way("real"))
        sleep_until_real_time();
    for (int i = 0; i < LOCKS; i++)
        take(&shared->lock[i]);
    shared->taken = true;
    if (is_way("rests"))
        (void)usleep(10000);
    for (int i = 0;; i = (i + 1) % LOCKS) {
        if (is_way("ordinary") && signalled == 1) {
            (void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
            signalled = 2;
        }
        spin(gives > 0 ? gives : 1000);
        if (is_way("gives-one") && turns++ == 20)
            give(&shared->lock[0]);
        if (is_way("takes") && turns > 20) {
            give(&shared->lock[1]);
            (void)usleep(20000); /* a thread of a higher rank takes a lock before a woken waiter */
            take(&shared->lock[0]);
        }
        if (is_way("again") && (++turns % 5 == 0 || is_way("often"))) {
            give(&shared->lock[0]);
            take(&shared->lock[0]);
        }
        if (is_way("gives-all") && turns > 20)
            give_and_sleep(&shared->lock[1]);
        if (gives > 0) {
            give(&shared->lock[i]);
            take(&shared->lock[i]);
        }
    }
}

static void *sleep_for_ever(void *unused)
{
    for (;;)
        (void)pause();
    return unused;
}

static void start_crowd(void)
{
    pthread_t thread;
    for (int i = 0; i < 480; i++)
        (void)pthread_create(&thread, NULL, sleep_for_ever, NULL);
}

static bool are_deadline(void)
{
    for (int i = 0; i < LOCKS; i++)
        if ((sched_getscheduler(waiters[i]) & ~SCHED_RESET_ON_FORK) != SCHED_DEADLINE)
            return false;
    return true;
}

static void watch(void)
{
    while (!are_deadline())
        (void)usleep(1000);
    (void)prctl(PR_SET_NAME, "real");
    while (are_deadline())
        ;
    (void)prctl(PR_SET_NAME, "seen");
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = go_on};
    pthread_t thread;
    if (argc < 2)
        return 64;
    ways = argv + 1;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 71;
    (void)sigaction(SIGUSR1, &action, NULL);
    if (fork() == 0) {
        become(number_of("holder="));
        hold();
    }
    become(number_of("user="));
    for (int i = 0; i < LOCKS; i++) {
        numbers[i] = i;
        (void)pthread_create(&thread, NULL, wait_for_lock, &numbers[i]);
    }
    (void)pthread_create(&thread, NULL, move, NULL);
    if (is_way("crowd"))
        start_crowd();
    if (is_way("watches"))
        watch();
    for (;;)
        (void)pause();
}
