/* herd BEFORE AFTER: a process of BEFORE sleeping threads. After SIGUSR1 it starts AFTER further
 * threads, and then moves all threads from CPU to CPU without end. Prints "ready" when the threads
 * are there. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 32768, STACK = 16384 };
static volatile pid_t ids[MOST];
static int count = 1;

static void *wait_for_ever(void *number)
{
    ids[*(int *)number] = (pid_t)syscall(SYS_gettid);
    for (;;)
        pause();
    return NULL;
}

static void start(int more)
{
    static int numbers[MOST];
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    for (int i = 0; i < more && count < MOST; i++) {
        numbers[count] = count;
        if (pthread_create(&thread, &small, wait_for_ever, &numbers[count]) != 0)
            exit(1);
        count++;
    }
    puts("ready");
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    sigset_t told;
    int which;
    sigemptyset(&told);
    sigaddset(&told, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &told, NULL);
    start(argc == 3 ? atoi(argv[1]) - 1 : 0);
    sigwait(&told, &which);
    start(argc == 3 ? atoi(argv[2]) : 0);
    for (unsigned i = 0;; i++) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(i / (unsigned)count % 2, &cpus);
        (void)sched_setaffinity(ids[i % (unsigned)count], sizeof cpus, &cpus);
    }
}
