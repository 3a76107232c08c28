/* team - a process whose threads use all CPU time that they get
 *
 * usage: team THREADS [roam|storm|late|sleep|crowd|exec|leave|explicit]
 *        team THREADS lend|lend-moved|hold FILE
 *        team THREADS child PROGRAM
 *
 * Starts THREADS threads in all that never sleep; the second is SCHED_BATCH on CPU 0 alone. With
 * roam, the last one moves all threads to all CPUs, again and again. With storm, the last one
 * starts processes, which end at once. With sleep, all threads sleep. With crowd, all but the first
 * do. With late, the first thread starts the others only after SIGUSR1. With exec, the last one
 * calls execve after SIGUSR1, and the process becomes `team 2`. With leave, the first thread ends
 * after SIGUSR1. With explicit, the last one starts threads that pthread_create(3) makes SCHED_OTHER,
 * and the process ends if this fails. With lend, the last one takes the lock in FILE, which test/attack/inherit.c made,
 * again and again, as soon as it is real-time. The others sleep; after SIGUSR1 the first thread
 * does not sleep, but is SCHED_IDLE. With lend-moved, the last one waits until inherit moves it to
 * the lock. With hold, the last one takes the lock in FILE and never sleeps; the others sleep. With child, a process that runs PROGRAM is started after SIGUSR1. */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1000 };
static volatile pid_t ids[MOST];
static int numbers[MOST];
static int count;
static const char *way = "", *file = "", *self;

static void spin(void)
{
    for (volatile int i = 0;; i++)
        ;
}

static void roam(void)
{
    cpu_set_t all;
    memset(&all, 0xff, sizeof all);
    for (int i = 0;; i = (i + 1) % count)
        (void)sched_setaffinity(ids[i], sizeof all, &all);
}

static void storm(void)
{
    for (;;) {
        const pid_t child = fork();
        if (child == 0)
            _exit(0);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

static void *end_at_once(void *unused)
{
    return unused;
}

static void start_with_policy(void)
{
    pthread_attr_t with_policy;
    pthread_t thread;
    (void)pthread_attr_init(&with_policy);
    (void)pthread_attr_setinheritsched(&with_policy, PTHREAD_EXPLICIT_SCHED);
    for (;;) {
        if (pthread_create(&thread, &with_policy, end_at_once, NULL) != 0)
            exit(77);
        (void)pthread_join(thread, NULL);
    }
}

static bool is_way(const char *one)
{
    return strcmp(way, one) == 0;
}

static bool lends(void)
{
    return is_way("lend") || is_way("lend-moved");
}

static int *map_lock(void)
{
    const int fd = open(file, O_RDWR);
    int *lock = mmap(NULL, 2 * sizeof *lock, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (lock == MAP_FAILED)
        exit(66);
    return lock;
}

static void hold(void)
{
    (void)syscall(SYS_futex, map_lock(), FUTEX_LOCK_PI, 0, NULL, NULL, 0);
    spin();
}

static void lend(void)
{
    int *lock = map_lock();
    while (sched_getscheduler(0) == SCHED_OTHER)
        (void)usleep(1000);
    for (;;)
        if (is_way("lend")) {
            (void)syscall(SYS_futex, lock, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
            (void)syscall(SYS_futex, lock, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
            (void)usleep(200);
        } else
            (void)syscall(SYS_futex, lock + 1, FUTEX_WAIT_REQUEUE_PI, 0, NULL, lock, 0);
}

/* The handler of SIGUSR1 runs in the first thread. */
static volatile sig_atomic_t signalled;

static void go_on(int signal_number)
{
    (void)signal_number;
    signalled = 1;
}

static void sleep_until_signalled(void)
{
    while (!signalled)
        (void)usleep(1000);
}

static void start_child(void)
{
    char *const words[] = {(char *)file, NULL};
    sleep_until_signalled();
    if (fork() == 0) {
        (void)execv(file, words);
        _exit(127);
    }
}

static void *run(void *number)
{
    const int own = *(const int *)number;
    ids[own] = (pid_t)syscall(SYS_gettid);
    if (own == 1) {
        const struct sched_param none = {0};
        cpu_set_t first;
        CPU_ZERO(&first);
        CPU_SET(0, &first);
        (void)sched_setscheduler(0, SCHED_BATCH, &none);
        (void)sched_setaffinity(0, sizeof first, &first);
    }
    if (own == count - 1 && is_way("roam"))
        roam();
    if (own == count - 1 && is_way("storm"))
        storm();
    if (own == count - 1 && is_way("explicit"))
        start_with_policy();
    if (own == count - 1 && lends())
        lend();
    if (own == count - 1 && is_way("hold"))
        hold();
    if (own == count - 1 && is_way("exec")) {
        sleep_until_signalled();
        (void)execl(self, self, "2", NULL);
    }
    if (own == count - 1 && is_way("child"))
        start_child();
    if (own == 0 && is_way("leave")) {
        sleep_until_signalled();
        pthread_exit(NULL);
    }
    if (own == 0 && lends()) {
        const struct sched_param none = {0};
        sleep_until_signalled();
        (void)sched_setscheduler(0, SCHED_IDLE | SCHED_RESET_ON_FORK, &none);
        spin();
    }
    while (is_way("sleep") || is_way("hold") || is_way("explicit") || lends() ||
           (is_way("crowd") && own > 0))
        (void)pause();
    spin();
    return NULL;
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = go_on};
    pthread_t thread;
    if (argc < 2 || (count = atoi(argv[1])) < 1 || count > MOST)
        return 64;
    self = argv[0];
    way = argc > 2 ? argv[2] : "";
    file = argc > 3 ? argv[3] : "";
    (void)sigaction(SIGUSR1, &action, NULL);
    if (is_way("late"))
        sleep_until_signalled();
    for (int i = 1; i < count; i++) {
        numbers[i] = i;
        if (pthread_create(&thread, NULL, run, &numbers[i]) != 0)
            return 71;
    }
    (void)run(&numbers[0]);
    return 0;
}
