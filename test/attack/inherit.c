/* inherit - lends the rank of a real-time thread to an ordinary one through a lock
 *
 *     inherit FILE hold      takes the lock in FILE, which any user may map, and spins for ever
 *     inherit FILE lend      sleeps until it is real-time; then waits for the lock
 *     inherit FILE lend-now  waits for the lock at once
 *     inherit FILE sleep     sleeps until it is real-time; then waits for FILE's second word
 *     inherit FILE sleep-now  waits for FILE's second word at once
 *     inherit FILE requeue   moves a thread that waits for the second word behind the lock (FUTEX_CMP_REQUEUE_PI)
 *     inherit FILE overdraw N M  sleeps until it is real-time; uses up N us; then waits for the lock once, gives it back, uses up M us and sleeps
 *                            for ever
 *     inherit FILE pulse N   takes the lock and gives it back, N us each time, for ever
 *
 * FILE is made by hold or pulse. */
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

static int *lock, *door; /* addresses of two words of the file */

static long futex(int *word, int operation, int value, long other, int *second, int third)
{
    return syscall(SYS_futex, word, operation, value, other, second, third);
}

static bool map(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    (void)fchmod(fd, 0666);
    if (ftruncate(fd, (off_t)(2 * sizeof *lock)) != 0)
        return false;
    lock = mmap(NULL, 2 * sizeof *lock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    door = lock + 1;
    return lock != MAP_FAILED;
}

static void pause_for(long microseconds)
{
    const struct timespec time = {.tv_nsec = microseconds * 1000};
    (void)nanosleep(&time, NULL);
}

static void until_real_time(void)
{
    while (sched_getscheduler(0) == SCHED_OTHER ||
           (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER)
        pause_for(1000);
}

static void take(void)
{
    int nobody = 0;
    if (!__atomic_compare_exchange_n(lock, &nobody, (int)gettid(), false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        (void)futex(lock, FUTEX_LOCK_PI, 0, 0, NULL, 0);
}

static void give(void)
{
    int me = (int)gettid();
    if (!__atomic_compare_exchange_n(lock, &me, 0, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        (void)futex(lock, FUTEX_UNLOCK_PI, 0, 0, NULL, 0);
}

static long long cpu_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static void spin(long long microseconds)
{
    const long long until = cpu_time() + microseconds;
    while (cpu_time() < until)
        ;
}

/* Makes no system call: in each call the kernel would see that the thread's runtime is used up. */
static void pass(long long microseconds)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000LL + (now.tv_nsec - begin.tv_nsec) / 1000 <
           microseconds);
}

int main(int argc, char **argv)
{
    if (argc < 3 || !map(argv[1]))
        return EX_USAGE;
    if (strcmp(argv[2], "hold") == 0) {
        take();
        for (;;)
            spin(1000000);
    }
    if (strcmp(argv[2], "pulse") == 0 && argc == 4)
        for (;;) {
            take();
            spin(atoll(argv[3]));
            give();
        }
    if (strcmp(argv[2], "requeue") == 0)
        for (;;) {
            (void)futex(door, FUTEX_CMP_REQUEUE_PI, 1, 1, lock, 0);
            pause_for(1000);
        }
    if (strcmp(argv[2], "lend-now") != 0 && strcmp(argv[2], "sleep-now") != 0)
        until_real_time();
    if (strncmp(argv[2], "lend", 4) == 0)
        for (;;) {
            take();
            give();
        }
    if (strcmp(argv[2], "overdraw") == 0 && argc == 5) {
        pass(atoll(argv[3]));
        take();
        give();
        pass(atoll(argv[4]));
        for (;;)
            (void)pause();
    }
    if (strncmp(argv[2], "sleep", 5) == 0)
        for (;;)
            (void)futex(door, FUTEX_WAIT_REQUEUE_PI, 0, 0, lock, 0);
    return EX_USAGE;
}
