#include "response_time.h"

/* number of bits after the point in a utilization; C < 2^32, so C << 32 does not overflow */
enum { UNIT_BITS = 32 };

/* Finds the response time R: the smallest R within which the CPU surely gives work + sum of
 * ceil(R/T) C over the tasks of higher levels (`above`). TOO_MUCH if R exceeds the deadline.
 * *response: before the call, a lower bound of R; after the call, R. */
static enum outcome find_response(const struct set_task *above, size_t count, uint64_t work,
                                  uint64_t deadline, const struct supply *supply,
                                  uint64_t *response, uint64_t *steps)
{
    for (;;) {
        if (*response > deadline)
            return TOO_MUCH;
        if (!spend(steps, count + 1))
            return TOO_COMPLEX;
        uint64_t next = work;
        for (size_t i = 0; i < count; i++)
            next += (*response + above[i].timing.period - 1) / above[i].timing.period *
                    above[i].timing.runtime;
        next = supplied_after(supply, next);
        if (next <= *response)
            return FITS;
        *response = next;
    }
}

/* Returns a lower bound of the response time R: (work + alpha delta) / (alpha - U), where U is
 * `used`. R would have this value if ceil() did not round up. UINT64_MAX: no R exists. */
static uint64_t least_response(uint64_t work, uint64_t used, const struct supply *supply)
{
    const uint64_t low = (supply->alpha << UNIT_BITS) / ONE_CPU;
    const uint64_t high = ((supply->alpha << UNIT_BITS) + ONE_CPU - 1) / ONE_CPU;
    if (used >= high)
        return UINT64_MAX;
    unsigned __int128 all =
        ((unsigned __int128)work << UNIT_BITS) + (unsigned __int128)low * supply->delta;
    return (uint64_t)((all + (high - used) - 1) / (high - used));
}

enum outcome response_times_fit(const struct set_task *task, size_t count,
                                struct conditions conditions, uint64_t *steps)
{
    const struct supply *supply = &conditions.supply;
    uint64_t used = 0; /* utilization of the tasks on higher levels, rounded down */
    /* response and blocking time of the next higher level */
    uint64_t response = conditions.blocking, above = conditions.blocking;
    for (size_t first = 0, next; first < count; first = next) {
        uint64_t work = 0, share = 0, own_blocking = 0, deadline = TIME_MAX;
        for (next = first; next < count && task[next].level == task[first].level; next++) {
            struct timing own = task[next].timing;
            work += own.runtime;
            share += (own.runtime << UNIT_BITS) / own.period;
            deadline = own.deadline < deadline ? own.deadline : deadline;
            own_blocking = own.blocking > own_blocking ? own.blocking : own_blocking;
        }
        if (task[first].level < LEVEL_ABOVE) {
            /* The level's work is one job of each task on the level: if R <= D <= T, no task begins
             * a second job before its first job is done. */
            const uint64_t blocking = conditions.blocking + own_blocking;
            uint64_t least = blocking + work > deadline
                                 ? UINT64_MAX
                                 : least_response(blocking + work, used, supply);
            if (blocking >= above && response + work > least)
                least = response + work;
            above = blocking;
            response = least;
            enum outcome outcome =
                find_response(task, first, blocking + work, deadline, supply, &response, steps);
            if (outcome != FITS)
                return outcome;
        }
        used += share;
    }
    return FITS;
}
