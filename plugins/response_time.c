#include "response_time.h"

/* the bits of the fraction in a utilization; C < 2^32, so C << 32 does not overflow */
enum { UNIT_BITS = 32 };

/* Finds the smallest R = work + sum of ceil(R/T) C over the tasks above. TOO_MUCH if R exceeds the
 * deadline. *response: in: a lower bound of R; out: R. */
static enum outcome find_response(const struct set_task *above, size_t count, uint64_t work,
                                  uint64_t deadline, uint64_t *response, uint64_t *steps)
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
        if (next <= *response)
            return FITS;
        *response = next;
    }
}

/* Returns a lower bound of R: work / (1 - U), which is R without rounding up. UINT64_MAX: no R
 * exists. */
static uint64_t least_response(uint64_t work, uint64_t used)
{
    const uint64_t one = UINT64_C(1) << UNIT_BITS;
    if (used >= one)
        return UINT64_MAX;
    return ((work << UNIT_BITS) + (one - used) - 1) / (one - used);
}

enum outcome response_times_fit(const struct set_task *task, size_t count, uint64_t blocking,
                                uint64_t *steps)
{
    uint64_t used = 0;            /* U of the levels above, rounded down */
    uint64_t response = blocking; /* R of the level above */
    for (size_t first = 0, next; first < count; first = next) {
        uint64_t work = 0, share = 0, deadline = TIME_MAX;
        for (next = first; next < count && task[next].level == task[first].level; next++) {
            struct timing own = task[next].timing;
            work += own.runtime;
            share += (own.runtime << UNIT_BITS) / own.period;
            deadline = own.deadline < deadline ? own.deadline : deadline;
        }
        if (task[first].level != LEVEL_ABOVE) {
            /* One job of each task of the level: if R <= D <= T, no second job comes before the
             * first one is done. */
            uint64_t least =
                blocking + work > deadline ? UINT64_MAX : least_response(blocking + work, used);
            response = response + work > least ? response + work : least;
            enum outcome outcome =
                find_response(task, first, blocking + work, deadline, &response, steps);
            if (outcome != FITS)
                return outcome;
        }
        used += share;
    }
    return FITS;
}
