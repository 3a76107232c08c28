/* The cost of a mark: does the load program's marking for each job, with an empty job, while
 * another thread takes the marks away. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "muse/ring.h"

enum { MARKS = 20000000, ROUNDS = 5 };

static struct ring ring;
static _Atomic int over;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void *take(void *argument)
{
    const struct mark *marks;
    uint64_t *taken = argument, count;
    while (!atomic_load(&over))
        while ((count = ring_look(&ring, &marks)) > 0) {
            ring_took(&ring, count);
            *taken += count;
        }
    return NULL;
}

static double round_of_marks(uint64_t *dropped)
{
    const int64_t begin = now();
    for (uint32_t job = 0; job < MARKS; job++)
        *dropped += !ring_put(&ring, (struct mark){now(), job, (uint16_t)sched_getcpu(), 0});
    return (double)(now() - begin) / MARKS;
}

int main(void)
{
    pthread_t taker;
    uint64_t taken = 0, dropped = 0;
    double least = 1e9;
    if (pthread_create(&taker, NULL, take, &taken) != 0)
        return EXIT_FAILURE;
    for (int i = 0; i < ROUNDS; i++) {
        double cost = round_of_marks(&dropped);
        least = cost < least ? cost : least;
    }
    atomic_store(&over, 1);
    pthread_join(taker, NULL);
    printf("a mark: %.1f ns\n", least);
    return EXIT_SUCCESS;
}
