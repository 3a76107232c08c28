#include "ledger.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "grants.h"
#include "units.h"

static uint64_t by_cpu[CPU_SETSIZE];
static uint64_t *by_plugin[PLUGINS_MAX]; /* [CPU] */
static uint64_t global[PLUGINS_MAX];

static bool fault(char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fault(char *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, REASON_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

static bool is_subset(const cpu_set_t *part, const cpu_set_t *whole)
{
    cpu_set_t both;
    CPU_AND(&both, part, whole);
    return CPU_EQUAL(&both, part);
}

static bool is_global(int plugin)
{
    const struct plugin_line *line = plugin_line(plugin);
    return line->deadline && line->partition == PARTITION_GLOBAL;
}

bool plan_is_its_own(int plugin, const struct spec *spec, uint64_t max_runtime, const struct attributes *plan,
                     char reason[static REASON_BYTES])
{
    const struct plugin_line *line = plugin_line(plugin);
    char cpus[CPU_LIST_TEXT];
    uint64_t deadline = spec->deadline != 0 ? spec->deadline : spec->period;
    uint64_t most = spec->desired_runtime != 0 ? spec->desired_runtime : spec->runtime;
    if (!is_subset(&plan->cpus, &line->cpus))
        return fault(reason, "it offers CPU %.200s, which is not its own", format_cpus(&plan->cpus, cpus));
    if (is_global(plugin) && !CPU_EQUAL(&plan->cpus, &line->cpus))
        return fault(reason, "under partition=global a plan has all of its CPUs, not %.200s", format_cpus(&plan->cpus, cpus));
    if (line->domains && CPU_COUNT(&plan->cpus) != 1)
        return fault(reason, "its threads are put into the domain of one CPU, and it offers %.200s", format_cpus(&plan->cpus, cpus));
    if (line->deadline != (plan->policy == POLICY_DEADLINE) ||
        (!line->deadline && plan->policy != POLICY_FIFO && plan->policy != POLICY_RR))
        return fault(reason, "it offers the policy %s, which its line does not allow", policy_name(plan->policy));
    if (!line->deadline && (plan->priority < line->lowest || plan->priority > line->highest))
        return fault(reason, "it offers priority %d, its range is %d-%d", plan->priority, line->lowest, line->highest);
    if (line->deadline && (plan->priority != 0 || plan->runtime == 0 || plan->period == 0))
        return fault(reason, "a deadline plan has a runtime, a period and no priority");
    if (plan->period != spec->period || plan->deadline != deadline)
        return fault(reason, "it offers another period or deadline than was asked");
    if (plan->runtime < spec->runtime || plan->runtime > most || plan->runtime > max_runtime)
        return fault(reason, "it offers a runtime of %lluus, which is not within what was asked and allowed", (unsigned long long)plan->runtime);
    return true;
}

static uint64_t *sums_of(int plugin)
{
    if (by_plugin[plugin] == NULL)
        by_plugin[plugin] = calloc(CPU_SETSIZE, sizeof **by_plugin);
    if (by_plugin[plugin] == NULL)
        abort();
    return by_plugin[plugin];
}

/* A plugin may add exact fractions where the ledger rounds each up; that is no lie. */
enum { ROUNDING = 1000 };

uint64_t ledger_weight(const struct grant *grant)
{
    return plugin_line(grant->plugin)->promises ? grant->utilization : 0;
}

/* Of a CPU that is shared no more than all of it can be promised. A line's own sum may be of densities, which is more than
 * they use of the CPU; what plugins know of one another are rates. */
uint64_t ledger_rate(const struct grant *grant)
{
    return ledger_weight(grant) == 0 || grant->spec.period == 0 ? ledger_weight(grant) : utilization(grant->plan.runtime, grant->spec.period);
}

static uint64_t part_of(const struct grant *grant, int plugin, int cpu)
{
    if (grant == NULL || (plugin >= 0 && grant->plugin != plugin) || (cpu >= 0 && !CPU_ISSET((size_t)cpu, &grant->plan.cpus)))
        return 0;
    return plugin < 0 ? ledger_rate(grant) : ledger_weight(grant);
}

static bool fits_global(const struct grant *grant, const struct grant *old, char *reason)
{
    const struct plugin_line *line = plugin_line(grant->plugin);
    char used_text[UTILIZATION_TEXT], most_text[UTILIZATION_TEXT];
    uint64_t used = global[grant->plugin] - part_of(old, grant->plugin, -1);
    uint64_t most = line->threshold * (uint64_t)CPU_COUNT(&line->cpus);
    return used + ledger_weight(grant) <= most + ROUNDING ||
           fault(reason, "its CPUs would hold more than %s: %s is promised", format_utilization(most, most_text), format_utilization(used, used_text));
}

/* What a CPU has promised without `old`: of the plugin's line, and of all. */
static uint64_t own_without(const struct grant *grant, const struct grant *old, int cpu)
{
    bool counts = old != NULL && !is_global(old->plugin);
    return sums_of(grant->plugin)[cpu] - (counts ? part_of(old, grant->plugin, cpu) : 0);
}

static uint64_t all_without(const struct grant *old, int cpu)
{
    return by_cpu[cpu] - (old != NULL && !is_global(old->plugin) ? part_of(old, -1, cpu) : 0);
}

static bool fits_own(const struct grant *grant, const struct grant *old, int cpu, char *reason)
{
    uint64_t own = own_without(grant, old, cpu), most = plugin_line(grant->plugin)->threshold;
    char text[UTILIZATION_TEXT], most_text[UTILIZATION_TEXT];
    return own + ledger_weight(grant) <= most + ROUNDING ||
           fault(reason, "CPU %d would hold more than its threshold of %s: %s is promised", cpu, format_utilization(most, most_text),
                 format_utilization(own, text));
}

static bool fits_all(const struct grant *grant, const struct grant *old, int cpu, char *reason)
{
    uint64_t all = all_without(old, cpu);
    char text[UTILIZATION_TEXT];
    return all + ledger_rate(grant) <= ONE_CPU + ROUNDING ||
           fault(reason, "CPU %d is shared and would be promised more than once: %s is", cpu, format_utilization(all, text));
}

static bool fits(const struct grant *grant, const struct grant *old, bool others, char *reason)
{
    if (ledger_weight(grant) == 0 || grant->spec.ignore_admission)
        return true;
    if (is_global(grant->plugin))
        return fits_global(grant, old, reason);
    for (int cpu = cpu_from(&grant->plan.cpus, 0); cpu < CPU_SETSIZE; cpu = cpu_from(&grant->plan.cpus, cpu + 1))
        if (!fits_own(grant, old, cpu, reason) || (others && !fits_all(grant, old, cpu, reason)))
            return false;
    return true;
}

bool ledger_fits(const struct grant *grant, const struct grant *old, char reason[static REASON_BYTES])
{
    return fits(grant, old, true, reason);
}

bool ledger_fits_line(const struct grant *grant, const struct grant *old, char reason[static REASON_BYTES])
{
    return fits(grant, old, false, reason);
}

static uint64_t left_of(uint64_t most, uint64_t used)
{
    return used < most + ROUNDING ? most + ROUNDING - used : 0;
}

uint64_t ledger_room(const struct grant *grant, const struct grant *old)
{
    uint64_t left_own = ONE_CPU, left_all = ONE_CPU, most = plugin_line(grant->plugin)->threshold;
    const cpu_set_t *cpus = &grant->plan.cpus;
    for (int cpu = cpu_from(cpus, 0); cpu < CPU_SETSIZE && !is_global(grant->plugin); cpu = cpu_from(cpus, cpu + 1)) {
        uint64_t own = left_of(most, own_without(grant, old, cpu)), all = left_of(ONE_CPU, all_without(old, cpu));
        left_own = own < left_own ? own : left_own;
        left_all = all < left_all ? all : left_all;
    }
    uint64_t window = grant_window(grant), period = grant->spec.period == 0 ? window : grant->spec.period;
    uint64_t own = runtime_within(left_own, window), all = runtime_within(left_all, period);
    return own < all ? own : all;
}

/* Unsigned sums: adding the two's complement subtracts exactly. */
static void book(const struct grant *grant, uint64_t amount, uint64_t shared)
{
    if (is_global(grant->plugin)) {
        global[grant->plugin] += amount;
        return;
    }
    uint64_t *own = sums_of(grant->plugin);
    if (amount == 0 && shared == 0)
        return;
    for (int cpu = cpu_from(&grant->plan.cpus, 0); cpu < CPU_SETSIZE; cpu = cpu_from(&grant->plan.cpus, cpu + 1)) {
        own[cpu] += amount;
        by_cpu[cpu] += shared;
    }
}

static uint64_t additions, removals;

uint64_t ledger_additions(void)
{
    return additions;
}

void ledger_add(const struct grant *grant)
{
    additions++;
    book(grant, ledger_weight(grant), ledger_rate(grant));
}

uint64_t ledger_removals(void)
{
    return removals;
}

void ledger_remove(const struct grant *grant)
{
    removals++;
    book(grant, -ledger_weight(grant), -ledger_rate(grant));
}

void ledger_each(void (*each)(int plugin, int cpu, uint64_t sum))
{
    for (int plugin = 0; plugin < plugins_count(); plugin++) {
        if (global[plugin] != 0)
            each(plugin, -1, global[plugin]);
        for (int cpu = 0; by_plugin[plugin] != NULL && cpu < CPU_SETSIZE; cpu++)
            if (by_plugin[plugin][cpu] != 0)
                each(plugin, cpu, by_plugin[plugin][cpu]);
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (by_cpu[cpu] != 0)
            each(-1, cpu, by_cpu[cpu]);
}

static bool is_shared(int cpu)
{
    for (int plugin = 0; plugin < plugins_count(); plugin++)
        if (plugin_line(plugin)->promises && !is_global(plugin) && CPU_ISSET((size_t)cpu, &plugin_line(plugin)->cpus))
            return true;
    return false;
}

static void pools_of_line(int plugin, void (*each)(const struct pool *pool))
{
    const struct plugin_line *line = plugin_line(plugin);
    if (is_global(plugin))
        each(&(struct pool){plugin, -1, line->threshold * (uint64_t)CPU_COUNT(&line->cpus), global[plugin]});
    else
        for (int cpu = cpu_from(&line->cpus, 0); cpu < CPU_SETSIZE; cpu = cpu_from(&line->cpus, cpu + 1))
            each(&(struct pool){plugin, cpu, line->threshold, sums_of(plugin)[cpu]});
}

void ledger_pools(void (*each)(const struct pool *pool))
{
    for (int plugin = 0; plugin < plugins_count(); plugin++)
        if (plugin_line(plugin)->promises)
            pools_of_line(plugin, each);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (is_shared(cpu))
            each(&(struct pool){-1, cpu, ONE_CPU, by_cpu[cpu]});
}
