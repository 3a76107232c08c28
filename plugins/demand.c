#include "demand.h"

#define NEVER (UINT64_C(1) << 62) /* larger bounds count as infinite: all sums stay below 2^63 */

/* of the fraction in a utilization; C < 2^32, so C << 32 does not overflow */
enum { UNIT_BITS = 32 };

/* An upper bound for every t with h(t) + blocking > t: (sum of (T - D) C/T, + blocking) / (1 - U),
 * because (t - D)/T + 1 is never less than the number of jobs. Rounded up. NEVER if U is too close
 * to 1. */
static uint64_t bound_by_utilization(const struct set_task *task, size_t count, uint64_t blocking)
{
    const uint64_t one = UINT64_C(1) << UNIT_BITS;
    uint64_t used = 0, excess = blocking;
    for (size_t i = 0; i < count; i++) {
        struct timing own = task[i].timing;
        used += ((own.runtime << UNIT_BITS) + own.period - 1) / own.period;
        excess += ((own.period - own.deadline) * own.runtime + own.period - 1) / own.period;
    }
    if (excess == 0)
        return 0;
    if (used >= one)
        return NEVER;
    unsigned __int128 bound = ((unsigned __int128)excess << UNIT_BITS) / (one - used) + 1;
    return bound < NEVER ? (uint64_t)bound : NEVER;
}

/* Another upper bound: the end of the first busy period, when all tasks and the blocking begin at
 * once. Returns `bound` if the busy period is not shorter, or is not found within half of the
 * steps. */
static uint64_t bound_by_busy_period(const struct set_task *task, size_t count, uint64_t blocking,
                                     uint64_t bound, uint64_t *steps)
{
    uint64_t half = *steps / 2, left = half, length = 0, next = 1;
    while (next > length && next < bound && spend(&left, count)) {
        length = next;
        next = blocking;
        for (size_t i = 0; i < count; i++)
            next += (length + task[i].timing.period - 1) / task[i].timing.period *
                    task[i].timing.runtime;
    }
    *steps -= half - left;
    return next <= length ? next : bound;
}

/* Of tasks whose deadline is at most t. Like h, it never falls as t grows. */
static uint64_t overruns_within(const struct set_task *task, size_t count, uint64_t t)
{
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (task[i].timing.deadline <= t && task[i].overruns > most)
            most = task[i].overruns;
    return most;
}

static uint64_t demand(const struct set_task *task, size_t count, uint64_t t)
{
    uint64_t sum = overruns_within(task, count, t);
    for (size_t i = 0; i < count; i++)
        if (task[i].timing.deadline <= t)
            sum += ((t - task[i].timing.deadline) / task[i].timing.period + 1) *
                   task[i].timing.runtime;
    return sum;
}

/* The last deadline before t; 0: none. */
static uint64_t last_deadline_before(const struct set_task *task, size_t count, uint64_t t)
{
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        struct timing own = task[i].timing;
        if (own.deadline >= t)
            continue;
        uint64_t deadline = (t - 1 - own.deadline) / own.period * own.period + own.deadline;
        last = deadline > last ? deadline : last;
    }
    return last;
}

static uint64_t first_deadline(const struct set_task *task, size_t count)
{
    uint64_t first = NEVER;
    for (size_t i = 0; i < count; i++)
        first = task[i].timing.deadline < first ? task[i].timing.deadline : first;
    return first;
}

/* Checks deadlines from the bound downwards. h never falls as t grows, so h(t) = s < t proves that
 * no deadline in [s, t] is missed. */
enum outcome demand_fits(const struct set_task *task, size_t count, uint64_t blocking,
                         uint64_t *steps)
{
    int full = compare_utilization(task, count, ONE_CPU);
    uint64_t delay = blocking + overruns_within(task, count, UINT64_MAX);
    if (full > 0 || (full == 0 && delay > 0)) /* with U = 1, h(hyperperiod) = hyperperiod */
        return TOO_MUCH;
    uint64_t first = first_deadline(task, count);
    uint64_t bound = bound_by_utilization(task, count, delay);
    bound = bound_by_busy_period(task, count, delay, bound, steps);
    if (bound == NEVER)
        return TOO_COMPLEX;
    uint64_t t = last_deadline_before(task, count, bound);
    while (t >= first) {
        if (!spend(steps, count))
            return TOO_COMPLEX;
        uint64_t needed = demand(task, count, t) + blocking;
        if (needed > t)
            return TOO_MUCH;
        t = needed < t ? needed : last_deadline_before(task, count, t);
    }
    return FITS;
}
