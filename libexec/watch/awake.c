#include "awake.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

static struct {
    pthread_t threads[CPU_SETSIZE];
    int count;
    atomic_bool ends;
} keepers;

/* Keeps a CPU busy. The thread makes itself SCHED_IDLE first, and so never takes time from other
 * threads. */
static void *keep(void *argument)
{
    const struct sched_param none = {0};
    (void)argument;
    if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &none) != 0)
        return NULL;
    while (!atomic_load_explicit(&keepers.ends, memory_order_relaxed))
        ;
    return NULL;
}

static int start(int cpu)
{
    pthread_attr_t attributes;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    error = pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus);
    if (error == 0)
        error = pthread_create(&keepers.threads[keepers.count], &attributes, keep, NULL);
    keepers.count += error == 0;
    pthread_attr_destroy(&attributes);
    return error;
}

bool awake_begin(void)
{
    cpu_set_t cpus;
    int error = 0;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0)
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE && error == 0; cpu++)
        if (CPU_ISSET(cpu, &cpus))
            error = start(cpu);
    errno = error;
    return error == 0;
}

/* Ends the threads. A SCHED_IDLE thread on a busy CPU may wait for minutes until it can end. So
 * each thread first becomes ordinary, if RLIMIT_NICE lets it leave SCHED_IDLE. */
void awake_end(void)
{
    const struct sched_param none = {0};
    atomic_store(&keepers.ends, true);
    for (int i = 0; i < keepers.count; i++)
        (void)pthread_setschedparam(keepers.threads[i], SCHED_OTHER, &none);
    while (keepers.count > 0)
        pthread_join(keepers.threads[--keepers.count], NULL);
}
