/* Executors as in ROS 2, in a program that does not know rtf: five threads with names, each of
 * which wakes once in its period. unaware.json states the needs of these threads. The administrator
 * puts unaware.json into programs.d (rtf-programs(5)), and the program runs unchanged.
 *
 *     cc unaware.c -o unaware -pthread */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

struct executor {
    const char *name;
    long period; /* ns */
};

static void *spin(void *argument)
{
    const struct executor *executor = argument;
    struct timespec next;
    pthread_setname_np(pthread_self(), executor->name);
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        next.tv_nsec += executor->period;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return NULL;
}

int main(void)
{
    static struct executor executors[] = {{"control", 10000000},
                                          {"perception-1", 50000000},
                                          {"perception-2", 50000000},
                                          {"planning", 100000000},
                                          {"logging", 100000000}};
    enum { COUNT = sizeof executors / sizeof *executors };
    pthread_t threads[COUNT];
    for (int i = 0; i < COUNT; i++)
        if (pthread_create(&threads[i], NULL, spin, &executors[i]) != 0) {
            fputs("unaware: no more threads can be made\n", stderr);
            return 71;
        }
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
