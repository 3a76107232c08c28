/* chains - boosts very many threads at once
 *
 * usage: chains COUNT
 *
 * The process has two chains of COUNT threads. Each thread has a lock (FUTEX_LOCK_PI), and waits for
 * the lock of the next thread. The last one of a chain uses all CPU time that it gets. The
 * threads waiter-0 and waiter-1 sleep until they are real-time, and then wait for the lock of the
 * first thread of a chain. This boosts all threads of the chain. The thread `ready` appears when the
 * chains exist. */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHAINS = 2, MOST = 1000 };
static int locks[CHAINS][MOST + 1];
static int count, numbers[CHAINS * MOST];

static void take(int *lock)
{
    int nobody = 0;
    if (!__atomic_compare_exchange_n(lock, &nobody, (int)gettid(), false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        (void)syscall(SYS_futex, lock, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
}

static void *link_of_chain(void *number)
{
    const int chain = *(const int *)number % CHAINS, place = *(const int *)number / CHAINS;
    take(&locks[chain][place]);
    for (volatile int i = 0; place == count - 1; i++)
        ;
    while (__atomic_load_n(&locks[chain][place + 1], __ATOMIC_ACQUIRE) == 0)
        (void)usleep(1000);
    take(&locks[chain][place + 1]);
    return NULL;
}

static void *waiter(void *number)
{
    const int own = *(const int *)number;
    (void)prctl(PR_SET_NAME, own == 0 ? "waiter-0" : "waiter-1");
    while ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER)
        (void)usleep(1000);
    take(&locks[own][0]);
    return NULL;
}

static void *ready(void *unused)
{
    (void)prctl(PR_SET_NAME, "ready");
    for (;;)
        (void)pause();
    return unused;
}

static void start(void *(*run)(void *), int number)
{
    pthread_attr_t small;
    pthread_t thread;
    (void)pthread_attr_init(&small);
    (void)pthread_attr_setstacksize(&small, 65536);
    if (pthread_create(&thread, &small, run, &numbers[number]) != 0)
        exit(71);
}

int main(int argc, char **argv)
{
    if (argc != 2 || (count = atoi(argv[1])) < 2 || count > MOST)
        return 64;
    for (int i = 0; i < count * CHAINS; i++) {
        numbers[i] = i;
        start(link_of_chain, i);
    }
    for (int i = 0; i < CHAINS; i++)
        start(waiter, i);
    for (int i = 0; i < count * CHAINS; i++)
        while (__atomic_load_n(&locks[i % CHAINS][i / CHAINS], __ATOMIC_ACQUIRE) == 0)
            (void)usleep(1000);
    (void)usleep(200000); /* until each thread waits in the kernel */
    start(ready, 0);
    for (;;)
        (void)pause();
}
