/* team - a process whose threads take all CPU time that they get
 *
 * usage: team THREADS [roam|storm|late]
 *
 * Starts THREADS threads in all that never sleep; the second is SCHED_BATCH on CPU 0 alone. With
 * roam, the last one moves all threads to all CPUs, again and again. With storm, the last one starts
 * processes, which end at once. With late, the first thread starts the others only after SIGUSR1. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1000 };
static volatile pid_t ids[MOST];
static int numbers[MOST];
static int count;
static const char *way = "";

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
    if (own == count - 1 && strcmp(way, "roam") == 0)
        roam();
    if (own == count - 1 && strcmp(way, "storm") == 0)
        storm();
    spin();
    return NULL;
}

static void go_on(int signal_number)
{
    (void)signal_number;
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = go_on};
    pthread_t thread;
    if (argc < 2 || (count = atoi(argv[1])) < 1 || count > MOST)
        return 64;
    way = argc > 2 ? argv[2] : "";
    if (strcmp(way, "late") == 0) {
        (void)sigaction(SIGUSR1, &action, NULL);
        (void)pause();
    }
    for (int i = 1; i < count; i++) {
        numbers[i] = i;
        if (pthread_create(&thread, NULL, run, &numbers[i]) != 0)
            return 71;
    }
    (void)run(&numbers[0]);
    return 0;
}
