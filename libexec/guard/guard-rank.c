#include "guard-rank.h"

#include <unistd.h>

#include "schedattr.h"

/* ns. One suspension takes about 40 us. When a flood of boosts costs more than RUNTIME, the rest of
 * the work waits for the next period, so other reservations lose at most RUNTIME per PERIOD.
 * SCHED_FLAG_RECLAIM also gives the guard all bandwidth that nobody has reserved. Without this
 * flag, each runtime that the guard overruns would keep it from running for one period, and the
 * guard may overrun many: where the kernel has no CONFIG_PARAVIRT_TIME_ACCOUNTING, as in Debian,
 * the time that the host takes from a virtual machine counts as used. 10 ms of such time would keep
 * the guard from running for 200 ms. */
enum { RUNTIME = 200000, PERIOD = 4000000 };

static struct sched_param fifo;
static enum { RANK_ORDINARY, RANK_FIFO, RANK_DEADLINE } rank = RANK_ORDINARY;

static void keep_off(const cpu_set_t *domains)
{
    cpu_set_t may;
    if (sched_getaffinity(0, sizeof may, &may) != 0)
        return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, domains))
            CPU_CLR(cpu, &may);
    if (CPU_COUNT(&may) > 0)
        (void)sched_setaffinity(0, sizeof may, &may);
}

void guard_rank_begin(const cpu_set_t *domains)
{
    if (sched_getscheduler(0) != SCHED_FIFO || sched_getparam(0, &fifo) != 0)
        return;
    if (fifo.sched_priority < sched_get_priority_max(SCHED_FIFO))
        fifo.sched_priority++;
    (void)sched_setparam(0, &fifo);
    keep_off(domains);
    rank = RANK_FIFO;
}

void guard_rank_yield(void)
{
    if (rank != RANK_DEADLINE || sched_setscheduler(0, SCHED_FIFO, &fifo) != 0)
        return;
    rank = RANK_FIFO;
}

bool guard_rank_rise(void)
{
    const struct kernel_sched_attr wanted = {.size = sizeof wanted,
                                             .policy = SCHED_DEADLINE,
                                             .flags = SCHED_FLAG_RECLAIM,
                                             .runtime = RUNTIME,
                                             .deadline = PERIOD,
                                             .period = PERIOD};
    if (rank != RANK_FIFO)
        return true;
    if (sched_setattr_of(0, &wanted) != 0)
        return false;
    rank = RANK_DEADLINE;
    return true;
}
