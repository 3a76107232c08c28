#include "clock.h"

#include <time.h>

static int64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t monotonic_now(void)
{
    return now(CLOCK_MONOTONIC);
}

int64_t realtime_now(void)
{
    return now(CLOCK_REALTIME);
}

int64_t boottime_now(void)
{
    return now(CLOCK_BOOTTIME);
}
