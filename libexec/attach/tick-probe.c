#include "tick-probe.h"

#include <sched.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "schedattr.h"
#include "tick.h"

/* A period is 2 1/8 ticks long, so EIGHT periods begin at eight different points of a tick. Where
 * the tick ends runtimes, at least three of the eight runtimes are overrun by more than half a
 * tick. */
enum { EIGHT = 8, NS_PER_US = 1000 };

/* Runs until the thread is kept from its CPU for more than half a tick. Returns how long it ran
 * before, ns. Reads a clock that takes no system call, because whenever a system call reads the
 * thread's CPU time, the kernel checks whether the runtime is used up. */
static int64_t run_to_the_end(int64_t tick)
{
    const int64_t begin = monotonic_now();
    int64_t last = begin;
    for (int64_t now; (now = monotonic_now()) - last < tick / 2;)
        last = now;
    return last - begin;
}

/* True: no run of the child exceeded its runtime by half a tick, so a timer ends runtimes. Short
 * runs mean nothing, because the runtime of 1/8 tick may already be used in part when the child
 * reads the clock for the first time. */
static bool is_ended_in_time(int64_t tick)
{
    const struct kernel_sched_attr wanted = {.size = sizeof wanted,
                                             .policy = SCHED_DEADLINE,
                                             .flags = SCHED_FLAG_RESET_ON_FORK,
                                             .runtime = (uint64_t)tick / EIGHT,
                                             .deadline = (uint64_t)(2 * tick + tick / EIGHT),
                                             .period = (uint64_t)(2 * tick + tick / EIGHT)};
    if (sched_setattr_of(0, &wanted) != 0)
        return false;
    for (int i = 0; i < EIGHT; i++)
        if (run_to_the_end(tick) > tick / EIGHT + tick / 2)
            return false;
    return true;
}

bool tick_probe(void)
{
    int status;
    const pid_t child = fork();
    if (child == 0)
        _exit(is_ended_in_time((int64_t)tick_length() * NS_PER_US) ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}
