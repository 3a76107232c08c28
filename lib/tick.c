#include "tick.h"

#include <time.h>

enum { US_OF_NO_CLOCK = 10000, NS_PER_US = 1000 };

uint64_t tick_length(void)
{
    struct timespec step;
    return clock_getres(CLOCK_MONOTONIC_COARSE, &step) == 0 ? (uint64_t)step.tv_nsec / NS_PER_US
                                                            : US_OF_NO_CLOCK;
}

static bool timer_ends_runtimes;

void tick_know(bool timer)
{
    timer_ends_runtimes = timer;
}

bool tick_is_not_awaited(void)
{
    return timer_ends_runtimes;
}
