/* Replaces lib/clock.c and lib/tick.c. */
#include "clock.h"
#include "tick.h"
#include "timers.h"
#include "unit.h"

int64_t clock_now = INT64_C(1000000000000);
uint64_t tick_is = 4000;

int64_t monotonic_now(void)
{
    return clock_now;
}

void clock_to(int64_t time)
{
    const struct timer *first;
    while ((first = timers_first()) != NULL && first->at <= time) {
        clock_now = first->at > clock_now ? first->at : clock_now;
        timers_run();
    }
    clock_now = time;
}

int64_t realtime_now(void)
{
    return clock_now + INT64_C(31536000000000000);
}

int64_t boottime_now(void)
{
    return clock_now + 1;
}

uint64_t tick_length(void)
{
    return tick_is;
}

static bool timer_ends_runtimes;

bool tick_is_not_awaited(void)
{
    return timer_ends_runtimes;
}

void tick_know(bool timer)
{
    timer_ends_runtimes = timer;
}
