#include "placement.h"

#include "plugins.h"
#include "launcher.h"
#include "thread.h"
#include "timers.h"
#include "units.h"

static struct {
    cpu_set_t choices;
    /* the CPU of the broker and its helper processes; -1: no CPU is chosen, because there is only
     * one CPU or because the wait is too long on each CPU */
    int common;
    bool is_calm;
    int64_t busy_since; /* CLOCK_MONOTONIC, ns */
    struct timer apart; /* while the timer is set, broker and plugins may be on different CPUs */
    struct {
        uint64_t mean, longest;
    } waits[CPU_SETSIZE]; /* by CPU: the sums over all attached threads that may run on the CPU */
} placement = {.common = -1, .is_calm = true, .busy_since = INT64_MAX};

/* When the broker has not slept for `patience`, the plugins may run on other CPUs, so that they
 * need not wait for the broker. They may do so for `pause`, because more requests may come. */
static const int64_t patience = INT64_C(2000000), pause = INT64_C(1000000000); /* ns */

/* crossing: the time that a question to a process on another CPU and its answer take at least.
 * longest_wait: the processes may have to wait this long for their CPU, but not longer. */
static const uint64_t crossing = 25000, longest_wait = 2000000; /* ns */

static void clear_deadline_cpus(cpu_set_t *cpus, bool of_global)
{
    for (int i = 0; i < plugins_count(); i++) {
        const struct plugin_line *line = plugin_line(i);
        for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (line->deadline && (line->partition == PARTITION_GLOBAL) == of_global &&
                CPU_ISSET(cpu, &line->cpus))
                CPU_CLR(cpu, cpus);
    }
}

static int plugins_on(size_t cpu)
{
    int count = 0;
    for (int i = 0; i < plugins_count(); i++)
        count += CPU_ISSET(cpu, &plugin_line(i)->cpus) ? 1 : 0;
    return count;
}

static bool waits_little(int cpu)
{
    return placement.waits[cpu].mean <= crossing && placement.waits[cpu].longest <= longest_wait;
}

static int quietest(void)
{
    int found = -1;
    for (int cpu = cpu_from(&placement.choices, 0); cpu < CPU_SETSIZE;
         cpu = cpu_from(&placement.choices, cpu + 1))
        if (waits_little(cpu) && (found < 0 || plugins_on((size_t)cpu) < plugins_on((size_t)found)))
            found = cpu;
    return found;
}

/* Avoids CPUs of SCHED_DEADLINE threads. Such a thread runs before a FIFO thread of any priority,
 * and the kernel does not move the FIFO thread to another CPU for this reason. So if the attach
 * helper made a thread on its own CPU SCHED_DEADLINE, the helper would have to wait until this
 * thread has used up its runtime. */
void placement_choose(void)
{
    cpu_set_t quiet;
    if (sched_getaffinity(0, sizeof placement.choices, &placement.choices) != 0)
        return;
    quiet = placement.choices;
    clear_deadline_cpus(&quiet, false);
    if (CPU_COUNT(&quiet) > 0 && sched_setaffinity(0, sizeof quiet, &quiet) == 0)
        placement.choices = quiet;
    const bool has_choice = CPU_COUNT(&placement.choices) > 1;
    clear_deadline_cpus(&quiet, true);
    if (CPU_COUNT(&quiet) > 0)
        placement.choices = quiet;
    if (has_choice)
        placement.common = quietest();
}

/* Returns how long a thread with this plan keeps other threads waiting. If the thread uses all its
 * runtime, another thread on the CPU has to wait with a probability of runtime / period, for
 * runtime / 2 on average. A wait above longest_wait counts as longest_wait + 1. */
static struct presence presence_of(const struct attributes *plan)
{
    if (plan == NULL || plan->policy != POLICY_DEADLINE)
        return (struct presence){0};
    if (plan->runtime > longest_wait / 1000)
        return (struct presence){.cpus = plan->cpus, .longest = longest_wait + 1};
    return (struct presence){.cpus = plan->cpus,
                             .longest = plan->runtime * 1000,
                             .mean = plan->runtime * plan->runtime * 500 / plan->period};
}

/* Adds to the sums of these CPUs. The sums are unsigned, so adding the two's complement of a number
 * subtracts it exactly. */
static void add(const cpu_set_t *cpus, uint64_t mean, uint64_t longest)
{
    for (int cpu = cpu_from(cpus, 0); longest != 0 && cpu < CPU_SETSIZE;
         cpu = cpu_from(cpus, cpu + 1)) {
        placement.waits[cpu].mean += mean;
        placement.waits[cpu].longest += longest;
    }
}

void placement_expect(struct presence *presence, const struct attributes *plan)
{
    const struct presence former = *presence;
    *presence = presence_of(plan);
    if (placement.common < 0 || (former.longest == 0 && presence->longest == 0))
        return;
    add(&former.cpus, -former.mean, -former.longest);
    add(&presence->cpus, presence->mean, presence->longest);
    placement.is_calm = waits_little(placement.common);
    if (!placement.is_calm)
        launcher_place(-1);
    const int better = placement.is_calm ? -1 : quietest();
    if (better < 0)
        return;
    placement.common = better;
    placement.is_calm = true;
}

void placement_keep(bool busy)
{
    if (placement.common < 0)
        return;
    const int64_t now = monotonic_now();
    placement.busy_since = !busy                               ? INT64_MAX
                           : placement.busy_since == INT64_MAX ? now
                                                               : placement.busy_since;
    if ((busy && now - placement.busy_since > patience) || plugins_waited(now) > patience)
        timer_set(&placement.apart, now + pause);
    launcher_place(!placement.is_calm || placement.apart.at != 0 ? -1 : placement.common);
}
