#include "demand.h"

/* a bound that is not below this one counts as infinite, so that all sums stay below 2^63 */
#define NEVER (UINT64_C(1) << 62)

/* number of bits after the point in a utilization; C < 2^32, so C << 32 does not overflow */
enum { UNIT_BITS = 32 };

/* Returns an upper bound, rounded up, of all t with h(t) + blocking > alpha (t - delta), where h(t)
 * is the demand (demand.h). The bound is (sum of (T - D) C/T, plus blocking, plus alpha delta) /
 * (alpha - U). It holds because a task has at most (t - D)/T + 1 jobs in h(t). NEVER: U is too close
 * to alpha. */
static uint64_t bound_by_utilization(const struct set_task *task, size_t count,
                                     struct conditions conditions)
{
    const uint64_t alpha = (conditions.supply.alpha << UNIT_BITS) / ONE_CPU;
    uint64_t used = 0, excess = conditions.blocking + conditions.supply.delta;
    for (size_t i = 0; i < count; i++) {
        struct timing own = task[i].timing;
        used += ((own.runtime << UNIT_BITS) + own.period - 1) / own.period;
        excess += ((own.period - own.deadline) * own.runtime + own.period - 1) / own.period;
    }
    if (excess == 0)
        return 0;
    if (used >= alpha)
        return NEVER;
    unsigned __int128 bound = ((unsigned __int128)excess << UNIT_BITS) / (alpha - used) + 1;
    return bound < NEVER ? (uint64_t)bound : NEVER;
}

/* Returns another bound: the end of the first busy period, if all tasks and the blocking begin at
 * the same time. The CPU surely gives the work of the busy period within its length. So if a job
 * misses its deadline d, the last instant before d at which no job due by d was pending is less than
 * this length before d. Returns `bound` if the busy period is not shorter, or is not found within
 * half of the steps. */
static uint64_t bound_by_busy_period(const struct set_task *task, size_t count,
                                     struct conditions conditions, uint64_t bound, uint64_t *steps)
{
    uint64_t half = *steps / 2, left = half, length = 0, next = 1;
    while (next > length && next < bound && spend(&left, count)) {
        length = next;
        uint64_t work = conditions.blocking;
        for (size_t i = 0; i < count; i++)
            work += (length + task[i].timing.period - 1) / task[i].timing.period *
                    task[i].timing.runtime;
        next = supplied_after(&conditions.supply, work);
    }
    *steps -= half - left;
    return next <= length ? next : bound;
}

/* Returns the time that a task of another user can take in an interval of t us, beyond the task's
 * part of h(t). This time is an overrun, and a part of one job: if the thread sleeps until shortly
 * before the deadline of a job, the kernel leaves the thread a part of its runtime, in proportion
 * to the time left until the deadline. */
static uint64_t beyond(const struct set_task *task, uint64_t t)
{
    const struct timing *own = &task->timing;
    const uint64_t rest = t % own->period;
    if (task->overrun == 0 || rest >= own->deadline)
        return task->overrun;
    return task->overrun + (own->runtime * rest + own->deadline - 1) / own->deadline;
}

/* For each user who has a deadline within t, the tasks of all other users can take time beyond
 * h(t). Returns the largest of these times. The sum of the result and h(t) never falls as t grows.
 * Between two deadlines, the sum exceeds t only if the sum also exceeds t at the next deadline. */
static uint64_t taken_by_others(const struct set_task *task, size_t count, uint64_t t)
{
    uint64_t all = 0, most = 0, of_user[SET_TASKS + 1] = {0};
    bool is_due[SET_TASKS + 1] = {false};
    for (size_t i = 0; i < count; i++) {
        const uint64_t taken = beyond(&task[i], t);
        all += taken;
        of_user[task[i].user] += taken;
        is_due[task[i].user] |= task[i].timing.deadline <= t;
    }
    for (int user = 1; user <= SET_TASKS; user++)
        if (is_due[user] && all - of_user[user] > most)
            most = all - of_user[user];
    return most;
}

/* Returns the largest blocking time of the tasks with a deadline within t. */
static uint64_t most_blocking(const struct set_task *task, size_t count, uint64_t t)
{
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++)
        if (task[i].timing.deadline <= t && task[i].timing.blocking > most)
            most = task[i].timing.blocking;
    return most;
}

static uint64_t demand(const struct set_task *task, size_t count, uint64_t t)
{
    uint64_t sum = taken_by_others(task, count, t) + most_blocking(task, count, t);
    for (size_t i = 0; i < count; i++)
        if (task[i].timing.deadline <= t)
            sum += ((t - task[i].timing.deadline) / task[i].timing.period + 1) *
                   task[i].timing.runtime;
    return sum;
}

/* Returns the last deadline before t; 0: there is none. */
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

/* Returns the shortest deadline that is tested. An interval in which only the fair server is due
 * needs no test if the server's deadline is not tested. */
static uint64_t first_deadline(const struct set_task *task, size_t count)
{
    uint64_t first = NEVER;
    for (size_t i = 0; i < count; i++)
        if (task[i].level != LEVEL_SERVER && task[i].timing.deadline < first)
            first = task[i].timing.deadline;
    return first;
}

/* The largest possible result of taken_by_others: the overruns of all tasks, and one runtime of
 * each task. Both are 0 if all tasks belong to one user. */
struct extra {
    uint64_t overruns, runtimes;
};

static struct extra extra_of(const struct set_task *task, size_t count)
{
    struct extra extra = {0};
    int users = 0;
    for (size_t i = 0; i < count; i++) {
        users = task[i].user > users ? task[i].user : users;
        extra.overruns += task[i].overrun;
        extra.runtimes += task[i].overrun > 0 ? task[i].timing.runtime : 0;
    }
    return users > 1 ? extra : (struct extra){0};
}

/* Checks the deadlines from the bound downwards. Let s be the time after which the CPU has surely
 * given the demand h(t) and the blocking. The demand never falls as t grows. So if s < t, no task
 * misses a deadline in [s, t], and the search goes on at s. */
static enum outcome check_deadlines(const struct set_task *task, size_t count,
                                    struct conditions conditions, uint64_t bound, bool is_dearer,
                                    uint64_t *steps)
{
    const uint64_t first = first_deadline(task, count);
    uint64_t t = last_deadline_before(task, count, bound);
    while (t >= first) {
        if (!spend(steps, is_dearer ? 3 * count : count))
            return TOO_COMPLEX;
        uint64_t work = demand(task, count, t) + conditions.blocking;
        uint64_t needed = supplied_after(&conditions.supply, work);
        if (needed > t)
            return TOO_MUCH;
        t = needed < t ? needed : last_deadline_before(task, count, t);
    }
    return FITS;
}

enum outcome demand_fits(const struct set_task *task, size_t count, struct conditions conditions,
                         uint64_t *steps)
{
    int full = compare_utilization(task, count, conditions.supply.alpha);
    const struct extra extra = extra_of(task, count);
    const uint64_t blocking = conditions.blocking + most_blocking(task, count, NEVER);
    const uint64_t delays = blocking + conditions.supply.delta + extra.overruns;
    if (full > 0 || (full == 0 && delays > 0))
        /* with U = alpha, h(hyperperiod) = alpha hyperperiod, so no time is left for delays */
        return TOO_MUCH;
    struct conditions with_overruns = {blocking + extra.overruns, conditions.supply};
    struct conditions with_extra = {with_overruns.blocking + extra.runtimes, conditions.supply};
    uint64_t bound = bound_by_utilization(task, count, with_extra);
    bound = bound_by_busy_period(task, count, with_overruns, bound, steps);
    if (bound == NEVER)
        return TOO_COMPLEX;
    return check_deadlines(task, count, conditions, bound, extra.overruns > 0, steps);
}
