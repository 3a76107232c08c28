/* The pools of CPU time. Each line has a pool for each of its CPUs, whose capacity is threshold=;
 * under partition=global the line has one pool for all its CPUs together. Each CPU that several
 * lines share has another pool, whose capacity is one CPU. A plan on several CPUs counts fully on
 * each of these CPUs. Under partition=global it counts once, because the kernel balances one sum
 * over the whole domain. A plan without a runtime takes nothing from any pool. A plan of a plugin
 * that tests nothing and has no threshold= takes nothing either, because its line promises
 * nothing. */
#include "resource-cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reason.h"
#include "ledger.h"
#include "spec.h"
#include "tick.h"
#include "units.h"

/* ---- plans ---- */

#define fault(why, ...) fault_in(why, REASON_BYTES, __VA_ARGS__)

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

bool cpu_plan_keeps_within(const struct spec *spec, const struct attributes *plan,
                           char reason[static REASON_BYTES])
{
    char cpus[CPU_LIST_TEXT];
    if (spec->cpus == NULL || is_subset(&plan->cpus, spec->cpus))
        return true;
    return fault(reason, "it cannot restrict the thread to CPUs %.200s",
                 format_cpus(spec->cpus, cpus));
}

bool cpu_plan_is_its_own(int plugin, const struct spec *spec, uint64_t max_runtime,
                         const struct attributes *plan, char reason[static REASON_BYTES])
{
    const struct plugin_line *line = plugin_line(plugin);
    char cpus[CPU_LIST_TEXT];
    uint64_t deadline = spec->deadline != 0 ? spec->deadline : spec->period;
    uint64_t most = spec->desired_runtime != 0 ? spec->desired_runtime : spec->runtime;
    if (!is_subset(&plan->cpus, &line->cpus))
        return fault(reason, "it offers CPU %.200s, which its line of plugins.conf does not have",
                     format_cpus(&plan->cpus, cpus));
    if (is_global(plugin) && !CPU_EQUAL(&plan->cpus, &line->cpus))
        return fault(reason,
                     "under partition=global a plan must have all CPUs of the line, not %.200s",
                     format_cpus(&plan->cpus, cpus));
    if (line->domains && CPU_COUNT(&plan->cpus) != 1)
        return fault(reason,
                     "each of its threads runs in the domain of one CPU, but it offers %.200s",
                     format_cpus(&plan->cpus, cpus));
    if (line->deadline != (plan->policy == POLICY_DEADLINE) ||
        (!line->deadline && plan->policy != POLICY_FIFO && plan->policy != POLICY_RR))
        return fault(reason, "it offers the policy %s, which its line does not allow",
                     policy_name(plan->policy));
    if (!line->deadline && (plan->priority < line->lowest || plan->priority > line->highest))
        return fault(reason, "it offers priority %d, but its range is %d-%d", plan->priority,
                     line->lowest, line->highest);
    if (line->deadline && (plan->priority != 0 || plan->runtime == 0 || plan->period == 0))
        return fault(reason, "a deadline plan must have a runtime, a period and no priority");
    if (plan->period != spec->period || plan->deadline != deadline)
        return fault(reason, "it offers another period or deadline than the spec states");
    if (plan->runtime < spec->runtime || plan->runtime > most || plan->runtime > max_runtime)
        return fault(
            reason,
            "it offers a runtime of %lluus, which is not between the asked runtime and the allowed runtime",
            (unsigned long long)plan->runtime);
    return true;
}

/* False if a thread that reclaims would leave too little CPU time to other threads. */
static bool may_reclaim_beside(int plugin, int other, char *reason)
{
    const struct plugin_line *line = plugin_line(other);
    if (line->resource != RESOURCE_CPU)
        return true;
    if (line->deadline && line->partition == PARTITION_UNTHROTTLED)
        return fault(
            reason,
            "the key \"reclaim\" cannot be granted: the line of %s has partition=unthrottled, and without the kernel's limit a thread that reclaims leaves no CPU time to other threads",
            line->name);
    if (!line->deadline && line->promises && plugins_share_cpu(plugin, other))
        return fault(
            reason,
            "the key \"reclaim\" cannot be granted: %s promises CPU time to threads of fixed priorities on the same CPUs, and a thread that reclaims would take it",
            line->name);
    return true;
}

bool cpu_allows_flags(int plugin, const struct spec *spec, char reason[static REASON_BYTES])
{
    if ((spec->reclaim || spec->overrun_signal) && !plugin_line(plugin)->deadline)
        return fault(reason, "the key \"%s\" needs SCHED_DEADLINE, which the plugin does not give",
                     spec->reclaim ? "reclaim" : "overrun_signal");
    for (int other = 0; spec->reclaim && other < plugins_count(); other++)
        if (!may_reclaim_beside(plugin, other, reason))
            return false;
    return true;
}

static bool cpu_take_plan(const struct paragraph *said, struct attributes *plan)
{
    uint64_t priority = 0, accepted = 0;
    const char *policy = paragraph_get(said, "policy"), *cpus = paragraph_get(said, "cpus");
    if (policy == NULL || cpus == NULL || !policy_from_name(policy, &plan->policy) ||
        !parse_cpus(cpus, &plan->cpus))
        return false;
    if (paragraph_get_number(said, "priority", PRIORITY_MAX, &priority) < 0 ||
        paragraph_get_number(said, "runtime", TIME_MAX, &plan->runtime) < 0 ||
        paragraph_get_number(said, "deadline", TIME_MAX, &plan->deadline) < 0 ||
        paragraph_get_number(said, "period", TIME_MAX, &plan->period) < 0 ||
        paragraph_get_number(said, "accepted_runtime", TIME_MAX, &accepted) < 0)
        return false;
    plan->priority = (int)priority;
    return accepted == 0 || accepted == plan->runtime;
}

bool cpu_take_move(const struct paragraph *said, struct cpu_move *move)
{
    uint64_t priority = 0;
    const char *cpus = paragraph_get(said, "cpus");
    const int stated = paragraph_get_number(said, "priority", PRIORITY_MAX, &priority);
    *move = (struct cpu_move){.has_cpus = cpus != NULL,
                              .has_priority = stated == 1,
                              .priority = (int)priority};
    return stated >= 0 && (cpus == NULL || parse_cpus(cpus, &move->cpus));
}

/* Each move must fit while all other tasks stay on their CPUs. So a plugin that swaps two tasks
 * first moves one of the tasks to a third CPU. */
bool cpu_may_move(const struct grant *grant, const struct cpu_move *move, struct grant *moved)
{
    char reason[REASON_BYTES];
    const struct plugin_line *line = plugin_line(grant->plugin);
    if (move->has_priority && (move->priority < line->lowest || move->priority > line->highest))
        return false;
    *moved = *grant;
    if (move->has_cpus)
        moved->plan.cpus = move->cpus;
    if (move->has_priority)
        moved->plan.priority = move->priority;
    return cpu_plan_is_its_own(grant->plugin, &moved->spec, UINT64_MAX, &moved->plan, reason) &&
           (!move->has_cpus || ledger_fits(moved, grant, reason));
}

/* ---- plans as text ---- */

static void add_plan(struct paragraph_output *output, const struct attributes *plan)
{
    char cpus[CPU_LIST_TEXT];
    paragraph_add(output, "policy", policy_name(plan->policy));
    paragraph_add(output, "cpus", format_cpus(&plan->cpus, cpus));
    paragraph_add_stated(output, "priority", (uint64_t)plan->priority);
}

static void add_within(struct paragraph_output *output, const char *key, const struct spec *spec)
{
    char cpus[CPU_LIST_TEXT];
    if (spec->cpus != NULL)
        paragraph_add(output, key, format_cpus(spec->cpus, cpus));
}

void cpu_tell_timer(struct paragraph_output *output, int plugin)
{
    if (plugin_line(plugin)->deadline && plugins_have_hrtick() && tick_is_not_awaited())
        paragraph_add(output, "hrtick", "1");
}

static void cpu_ask(struct paragraph_output *output, int plugin, const struct spec *spec,
                    uint64_t most)
{
    cpu_tell_timer(output, plugin);
    paragraph_add_stated(output, "runtime", spec->runtime);
    paragraph_add_stated(output, "period", spec->period);
    paragraph_add_stated(output, "deadline", spec->deadline);
    paragraph_add_stated(output, "desired_runtime", spec->desired_runtime);
    paragraph_add_stated(output, "blocking", spec->blocking);
    paragraph_add_stated(output, "priority", (uint64_t)spec->priority);
    paragraph_add_stated(output, "ignore_admission", spec->ignore_admission);
    add_within(output, "cpus", spec);
    if (most != UINT64_MAX)
        paragraph_add_number(output, "max_runtime", most);
}

void cpu_tell_load(struct paragraph_output *output, const struct attributes *plan)
{
    add_plan(output, plan);
    paragraph_add_stated(output, "runtime", plan->runtime);
    paragraph_add_stated(output, "period", plan->period);
    paragraph_add_stated(output, "deadline", plan->deadline);
}

static void cpu_tell(struct paragraph_output *output, int plugin, const struct grant *grant)
{
    (void)plugin;
    cpu_tell_load(output, &grant->plan);
    paragraph_add_stated(output, "accepted_runtime", grant->plan.runtime);
    paragraph_add_stated(output, "desired_runtime", grant->spec.desired_runtime);
    paragraph_add_stated(output, "blocking", grant->spec.blocking);
    paragraph_add_stated(output, "requested_priority", (uint64_t)grant->spec.priority);
    paragraph_add_stated(output, "ignore_admission", grant->spec.ignore_admission);
}

void cpu_record(struct paragraph_output *output, const struct grant *grant)
{
    add_plan(output, &grant->plan);
    paragraph_add_stated(output, "accepted_runtime", grant->plan.runtime);
    paragraph_add_stated(output, "period", grant->spec.period);
    paragraph_add_stated(output, "deadline", grant->spec.deadline);
    paragraph_add_stated(output, "runtime", grant->spec.runtime);
    paragraph_add_stated(output, "desired_runtime", grant->spec.desired_runtime);
    paragraph_add_stated(output, "blocking", grant->spec.blocking);
    paragraph_add_stated(output, "requested_priority", (uint64_t)grant->spec.priority);
    paragraph_add_stated(output, "ignore_admission", grant->spec.ignore_admission);
    paragraph_add_stated(output, "reclaim", grant->spec.reclaim);
    paragraph_add_stated(output, "overrun_signal", grant->spec.overrun_signal);
    paragraph_add_stated(output, "utilization", grant->utilization);
    add_within(output, "within", &grant->spec);
}

static bool get(const struct paragraph *record, const char *key, uint64_t most, uint64_t *value)
{
    *value = 0;
    return paragraph_get_number(record, key, most, value) >= 0;
}

bool cpu_take_up(const struct paragraph *record, struct grant *grant)
{
    struct spec *spec = &grant->spec;
    struct attributes *plan = &grant->plan;
    uint64_t priority, requested, ignores, reclaim, overrun_signal;
    const char *policy = paragraph_get(record, "policy"), *cpus = paragraph_get(record, "cpus"),
               *within = paragraph_get(record, "within");
    if (policy == NULL || cpus == NULL || !policy_from_name(policy, &plan->policy) ||
        !parse_cpus(cpus, &plan->cpus) || (within != NULL && !spec_take_cpus(spec, within)))
        return false;
    if (!get(record, "period", TIME_MAX, &spec->period) ||
        !get(record, "deadline", TIME_MAX, &spec->deadline) ||
        !get(record, "runtime", TIME_MAX, &spec->runtime) ||
        !get(record, "desired_runtime", TIME_MAX, &spec->desired_runtime) ||
        !get(record, "blocking", TIME_MAX, &spec->blocking) ||
        !get(record, "accepted_runtime", TIME_MAX, &plan->runtime) ||
        !get(record, "requested_priority", PRIORITY_MAX, &requested) ||
        !get(record, "priority", PRIORITY_MAX, &priority) ||
        !get(record, "ignore_admission", 1, &ignores) || !get(record, "reclaim", 1, &reclaim) ||
        !get(record, "overrun_signal", 1, &overrun_signal))
        return false;
    spec->priority = (int)requested;
    spec->ignore_admission = ignores != 0;
    spec->reclaim = reclaim != 0;
    spec->overrun_signal = overrun_signal != 0;
    plan->priority = (int)priority;
    plan->period = spec->period;
    plan->deadline = spec->deadline != 0 ? spec->deadline : spec->period;
    return true;
}

static void set_number(json_t *object, const char *key, uint64_t number)
{
    json_object_set_new(object, key, number == 0 ? json_null() : json_integer((json_int_t)number));
}

struct attributes cpu_in_mode(const struct grant *grant)
{
    struct attributes plan = grant->plan;
    const struct mode *mode = grant->spec.mode;
    if (mode != NULL && mode->runtime != 0 && mode->runtime < plan.runtime)
        plan.runtime = mode->runtime;
    plan.reclaim = grant->spec.reclaim;
    plan.overrun_signal = grant->spec.overrun_signal;
    return plan;
}

bool cpu_is_shown(const struct grant *grant, const struct attributes *now)
{
    const struct attributes plan = cpu_in_mode(grant);
    return attributes_show(&plan, now);
}

void cpu_show(json_t *object, const struct grant *grant)
{
    char cpus[CPU_LIST_TEXT];
    const struct attributes *plan = &grant->plan;
    const bool has_plan = grant->plugin != NO_PLUGIN;
    json_object_set_new(object, "plugin",
                        has_plan ? json_string(plugin_line(grant->plugin)->name) : json_null());
    json_object_set_new(object, "policy",
                        has_plan ? json_string(policy_name(plan->policy)) : json_null());
    json_object_set_new(object, "cpus",
                        has_plan ? json_string(format_cpus(&plan->cpus, cpus)) : json_null());
    set_number(object, "priority", (uint64_t)plan->priority);
    set_number(object, "runtime", grant->spec.runtime);
    set_number(object, "desired_runtime", grant->spec.desired_runtime);
    set_number(object, "accepted_runtime", plan->runtime);
    set_number(object, "period", plan->period);
    set_number(object, "deadline", plan->deadline);
    json_object_set_new(object, "utilization", json_integer((json_int_t)grant->utilization));
}

json_t *cpu_book(const struct grant *grant)
{
    char cpus[CPU_LIST_TEXT];
    const struct attributes *plan = &grant->plan;
    const struct plugin_line *line = plugin_line(grant->plugin);
    return json_pack("{s:s, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:b}",
                     "plugin", line->name, "policy", policy_name(plan->policy), "cpus",
                     format_cpus(&plan->cpus, cpus), "priority", plan->priority, "runtime",
                     (json_int_t)plan->runtime, "runtime_in_mode",
                     (json_int_t)cpu_in_mode(grant).runtime, "period", (json_int_t)plan->period,
                     "deadline", (json_int_t)plan->deadline, "weight",
                     (json_int_t)cpu_weight(grant), "rate", (json_int_t)cpu_rate(grant), "domain",
                     line->domains, "untested", grant->spec.ignore_admission, "reclaim",
                     grant->spec.reclaim, "overrun_signal", grant->spec.overrun_signal);
}

/* ---- how much a plan takes from the pools ---- */

uint64_t cpu_window(const struct grant *grant)
{
    /* A task loads its CPU by Q/T (runtime / period), however short its deadline is. So the window
     * is the period. SCHED_DEADLINE lines with a sufficient test, or without a test, bound
     * densities instead: a density is Q divided by the deadline, if the deadline is shorter than
     * the period. */
    const struct plugin_line *line = plugin_line(grant->plugin);
    bool by_rate = !line->deadline || strcmp(line->tests, "exact") == 0 ||
                   strcmp(line->tests, "necessary") == 0;
    return by_rate && grant->spec.period != 0 ? grant->spec.period : spec_window(&grant->spec);
}

uint64_t cpu_utilization(const struct grant *grant)
{
    uint64_t window = grant->plugin == NO_PLUGIN ? 0 : cpu_window(grant);
    return grant->plan.runtime == 0 || window == 0 ? 0 : utilization(grant->plan.runtime, window);
}

uint64_t cpu_weight(const struct grant *grant)
{
    return grant->plugin != NO_PLUGIN && plugin_line(grant->plugin)->promises ? grant->utilization
                                                                              : 0;
}

/* On a CPU that lines share, all plans together may take one CPU. Each plan counts there with its
 * rate Q/T (runtime / period), and not with its weight, because a weight may be a density, which is
 * more than the CPU time that the plan uses. Plugins also learn the rate Q/T of the tasks of other
 * plugins. */
uint64_t cpu_rate(const struct grant *grant)
{
    return cpu_weight(grant) == 0 || grant->spec.period == 0
               ? cpu_weight(grant)
               : utilization(grant->plan.runtime, grant->spec.period);
}

/* ---- the pools of CPU time ---- */

static struct {
    uint64_t by_cpu[CPU_SETSIZE];
    uint64_t whole_lines[PLUGINS_MAX]; /* for each line with partition=global */
    uint64_t *by_line[PLUGINS_MAX];    /* for each other line: an array with a sum for each CPU */
} sums;

/* The slack of each pool. A plugin may add exact fractions, but the ledger rounds each fraction up.
 * So even a correct plugin may promise a little more than the ledger has room for. */
enum { ROUNDING = 1000 };

static uint64_t *sums_of(int plugin)
{
    if (sums.by_line[plugin] == NULL)
        sums.by_line[plugin] = calloc(CPU_SETSIZE, sizeof **sums.by_line);
    if (sums.by_line[plugin] == NULL)
        abort();
    return sums.by_line[plugin];
}

static struct pool pool_of_line(int plugin, int cpu)
{
    return (struct pool){&resource_cpu, plugin,
                         cpu,           plugin_line(plugin)->threshold,
                         ROUNDING,      &sums_of(plugin)[cpu]};
}

static struct pool pool_of_all_its_cpus(int plugin)
{
    const struct plugin_line *line = plugin_line(plugin);
    return (struct pool){&resource_cpu,
                         plugin,
                         -1,
                         line->threshold * (uint64_t)CPU_COUNT(&line->cpus),
                         ROUNDING,
                         &sums.whole_lines[plugin]};
}

static struct pool pool_of_cpu(int cpu)
{
    return (struct pool){&resource_cpu, -1, cpu, ONE_CPU, ROUNDING, &sums.by_cpu[cpu]};
}

static uint64_t cpu_amount_in(const struct pool *pool, const struct grant *grant)
{
    const bool of_all_lines = pool->plugin < 0, of_all_cpus = pool->cpu < 0;
    if (grant->plugin == NO_PLUGIN || of_all_cpus != is_global(grant->plugin) ||
        (!of_all_lines && grant->plugin != pool->plugin) ||
        (!of_all_cpus && !CPU_ISSET((size_t)pool->cpu, &grant->plan.cpus)))
        return 0;
    return of_all_lines ? cpu_rate(grant) : cpu_weight(grant);
}

static bool cpu_of_grant(const struct grant *grant, on_pool *on, void *context)
{
    if (cpu_weight(grant) == 0)
        return true;
    if (is_global(grant->plugin)) {
        const struct pool whole = pool_of_all_its_cpus(grant->plugin);
        return on(&whole, grant, context);
    }
    for (int cpu = cpu_from(&grant->plan.cpus, 0); cpu < CPU_SETSIZE;
         cpu = cpu_from(&grant->plan.cpus, cpu + 1)) {
        const struct pool own = pool_of_line(grant->plugin, cpu), all = pool_of_cpu(cpu);
        if (!on(&own, grant, context) || !on(&all, grant, context))
            return false;
    }
    return true;
}

static bool cpu_of_line(int plugin, on_pool *on, void *context)
{
    const cpu_set_t *cpus = &plugin_line(plugin)->cpus;
    if (is_global(plugin)) {
        const struct pool whole = pool_of_all_its_cpus(plugin);
        return on(&whole, NULL, context);
    }
    for (int cpu = cpu_from(cpus, 0); cpu < CPU_SETSIZE; cpu = cpu_from(cpus, cpu + 1)) {
        const struct pool pool = pool_of_line(plugin, cpu);
        if (!on(&pool, NULL, context))
            return false;
    }
    return true;
}

static bool is_shared(int cpu)
{
    for (int plugin = 0; plugin < plugins_count(); plugin++)
        if (plugin_line(plugin)->promises && !is_global(plugin) &&
            CPU_ISSET((size_t)cpu, &plugin_line(plugin)->cpus))
            return true;
    return false;
}

static bool cpu_of_all(on_pool *on, void *context)
{
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        const struct pool pool = pool_of_cpu(cpu);
        if (is_shared(cpu) && !on(&pool, NULL, context))
            return false;
    }
    return true;
}

uint64_t cpu_room(const struct grant *grant, const struct grant *old)
{
    uint64_t left_own = ONE_CPU, left_all = ONE_CPU;
    const cpu_set_t *cpus = &grant->plan.cpus;
    for (int cpu = cpu_from(cpus, 0); cpu < CPU_SETSIZE && !is_global(grant->plugin);
         cpu = cpu_from(cpus, cpu + 1)) {
        const struct pool line = pool_of_line(grant->plugin, cpu), shared = pool_of_cpu(cpu);
        const uint64_t own = ledger_left(&line, old), all = ledger_left(&shared, old);
        left_own = own < left_own ? own : left_own;
        left_all = all < left_all ? all : left_all;
    }
    const uint64_t window = cpu_window(grant),
                   period = grant->spec.period == 0 ? window : grant->spec.period;
    const uint64_t own = runtime_within(left_own, window), all = runtime_within(left_all, period);
    return own < all ? own : all;
}

/* ---- texts for people ---- */

static void cpu_name(const struct pool *pool, char *text)
{
    if (pool->plugin < 0)
        snprintf(text, POOL_TEXT, "CPU %d", pool->cpu);
    else if (pool->cpu < 0)
        snprintf(text, POOL_TEXT, "%s on all its CPUs", plugin_line(pool->plugin)->name);
    else
        snprintf(text, POOL_TEXT, "CPU %d under %s", pool->cpu, plugin_line(pool->plugin)->name);
}

static json_t *cpu_cpus(const struct pool *pool)
{
    char cpus[CPU_LIST_TEXT];
    return pool->cpu >= 0 ? json_sprintf("%d", pool->cpu)
                          : json_string(format_cpus(&plugin_line(pool->plugin)->cpus, cpus));
}

static void cpu_overfull(const struct pool *pool, uint64_t used, char *reason)
{
    char used_text[UTILIZATION_TEXT], most[UTILIZATION_TEXT];
    format_utilization(pool->capacity, most);
    format_utilization(used, used_text);
    if (pool->plugin < 0)
        snprintf(
            reason, REASON_BYTES,
            "CPU %d would be promised more than once by the plugins that share it: %s is promised already",
            pool->cpu, used_text);
    else if (pool->cpu < 0)
        snprintf(reason, REASON_BYTES,
                 "all its CPUs together would exceed their threshold of %s: %s is promised already",
                 most, used_text);
    else
        snprintf(reason, REASON_BYTES,
                 "CPU %d would exceed its threshold of %s: %s is promised already", pool->cpu, most,
                 used_text);
}

const struct resource_kind resource_cpu = {
    .ask = cpu_ask,
    .tell = cpu_tell,
    .take_plan = cpu_take_plan,
    .of_grant = cpu_of_grant,
    .of_line = cpu_of_line,
    .of_all = cpu_of_all,
    .amount_in = cpu_amount_in,
    .name = cpu_name,
    .cpus = cpu_cpus,
    .format = format_utilization,
    .overfull = cpu_overfull,
};
