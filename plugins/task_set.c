#include "task_set.h"

#include <gmp.h>

enum { SECOND = 1000000 }; /* us; the period of the kernel's fair server */

struct set_task *set_add(struct task_set *set, const struct timing *timing, int level)
{
    struct set_task *at = &set->task[++set->count];
    for (; at > &set->task[1] && at[-1].level < level; at--)
        *at = at[-1];
    *at = (struct set_task){.timing = *timing, .level = level};
    return at;
}

static int compare_fractions(const struct set_task *task, size_t count, uint64_t billionths)
{
    mpz_t sum, unit; /* sum / unit */
    mpz_init(sum);
    mpz_init_set_ui(unit, 1);
    for (size_t i = 0; i < count; i++) {
        mpz_mul_ui(sum, sum, task[i].timing.period);
        mpz_addmul_ui(sum, unit, task[i].timing.runtime);
        mpz_mul_ui(unit, unit, task[i].timing.period);
    }
    mpz_mul_ui(sum, sum, ONE_CPU);
    mpz_mul_ui(unit, unit, billionths);
    int order = mpz_cmp(sum, unit);
    mpz_clears(sum, unit, NULL);
    return order;
}

/* Rounded sums decide nearly all cases: the true sum is at least `low` and less than low + count.
 * Only in the other cases, exact sums are computed. */
int compare_utilization(const struct set_task *task, size_t count, uint64_t billionths)
{
    uint64_t low = 0;
    for (size_t i = 0; i < count; i++) {
        if (task[i].timing.runtime > task[i].timing.period)
            return 1; /* no limit is above one CPU, so a sum above one CPU exceeds the limit */
        low += task[i].timing.runtime * ONE_CPU / task[i].timing.period;
    }
    if (low > billionths)
        return 1;
    return low + count <= billionths ? -1 : compare_fractions(task, count, billionths);
}

bool is_whole(const struct supply *supply)
{
    return supply->alpha == ONE_CPU && supply->delta == 0;
}

uint64_t supplied_after(const struct supply *supply, uint64_t time)
{
    const uint64_t most = UINT64_C(1) << 63;
    if (time == 0 || is_whole(supply))
        return time;
    unsigned __int128 after =
        ((unsigned __int128)time * ONE_CPU + supply->alpha - 1) / supply->alpha + supply->delta;
    return after < most ? (uint64_t)after : most;
}

bool fair_server_acts(const struct set_task *task, size_t count, uint64_t runtime,
                      const struct supply *supply)
{
    uint64_t window = SECOND - runtime, taken = 0;
    for (size_t i = 0; i < count; i++)
        taken +=
            (window + task[i].timing.period - 1) / task[i].timing.period * task[i].timing.runtime;
    return runtime > 0 && supplied_after(supply, taken + runtime) > window;
}

struct set_task fair_server_task(uint64_t runtime, const struct supply *supply)
{
    return (struct set_task){.timing = {.runtime = runtime, .period = SECOND, .deadline = runtime},
                             .level = is_whole(supply) ? LEVEL_ABOVE : LEVEL_SERVER};
}
