#include "side-by-side.h"

#include <string.h>

#include "config-lines.h"
#include "plugin-lines.h"

#define wrong(reason, line, ...) config_lines_wrong(reason, "plugins.conf", line, __VA_ARGS__)

/* True: a thread with this policy and priority can delay threads of the judge. A SCHED_DEADLINE
 * thread runs above all priorities. A thread of a lower priority than the judge's threads cannot
 * delay them. */
static bool can_touch(const struct plugin_line *judge, bool deadline, int priority)
{
    return deadline || (!judge->deadline && judge->lowest <= priority);
}

bool plugin_must_judge(int judge, int plugin, const struct attributes *plan)
{
    cpu_set_t both;
    const struct plugin_line *line = plugin_line(judge);
    CPU_AND(&both, &plan->cpus, &line->cpus);
    return judge != plugin && line->judges && CPU_COUNT(&both) > 0 &&
           can_touch(line, plan->policy == POLICY_DEADLINE, plan->priority);
}

static bool may_judge(int judge, int plugin)
{
    return plugin_line(judge)->judges && plugins_share_cpu(judge, plugin) &&
           can_touch(plugin_line(judge), plugin_line(plugin)->deadline,
                     plugin_line(plugin)->highest);
}

bool plugin_may_be_judged(int plugin)
{
    for (int i = 0; i < plugins_count(); i++)
        if (may_judge(i, plugin))
            return true;
    return false;
}

static bool is_among_judges(int plugin)
{
    for (int i = 0; i < plugins_count(); i++)
        if (may_judge(plugin, i) || may_judge(i, plugin))
            return true;
    return false;
}

/* An exact test takes long, so the plugin gets one request at a time. A request may have to wait
 * for one test of another user, but never for all requests of another user. */
bool plugin_is_asked_alone(int plugin)
{
    return strcmp(plugin_line(plugin)->tests, "exact") == 0 || is_among_judges(plugin);
}

/* True: the plugin's admission test is more than a sum. If the broker granted another request
 * during a change, the plugin might not be able to restore the old plan. The ledger would not show
 * this, because it has only sums. */
bool plugin_takes_turns(int plugin)
{
    return (plugin_line(plugin)->proves && !plugin_line(plugin)->deadline) ||
           plugin_is_asked_alone(plugin);
}

/* ---- which plugins can keep their promises side by side ---- */

static bool check_deadline_pair(const struct plugin_line *tested, const struct plugin_line *other,
                                char *reason)
{
    if (tested->partition == PARTITION_GLOBAL)
        return wrong(
            reason, other->line,
            "%s is SCHED_DEADLINE on the same CPU as %s, which is global EDF and tests its tasks: remove one of the two lines",
            other->name, tested->name);
    const struct plugin_line *lacks = !tested->judges || !tested->tested ? tested : other;
    return (tested->judges && tested->tested && other->judges && other->tested) ||
           wrong(
               reason, lacks->line,
               "%s and %s are both SCHED_DEADLINE on the same CPU, and %s cannot %s: give them different CPUs",
               tested->name, other->name, lacks->name,
               lacks->judges ? "vouch for all its tasks (grants=tested)"
                             : "judge the other's tasks (judges=load)");
}

/* For FIFO and RR. If priorities of the other line are not below the priorities of the tested line,
 * three conditions must hold: the other line tests all its tasks, all its priorities are higher,
 * and the plugin of the tested line can judge tasks of other plugins. */
static bool check_ranks(const struct plugin_line *tested, const struct plugin_line *other,
                        char *reason)
{
    if (other->highest < tested->lowest)
        return true;
    if (!other->proves)
        return wrong(
            reason, tested->line,
            "%s tests its tasks (tests=%s), but %s on the same CPU proves less (tests=%s): its priorities reach %d, and must stay below %d",
            tested->name, tested->tests, other->name, other->tests, other->highest, tested->lowest);
    if (!other->tested)
        return wrong(
            reason, tested->line,
            "%s tests its tasks, but %s has higher priorities on the same CPU and also grants tasks without a test: give them different CPUs, or give %s a test of all its tasks (rm: admission=rta)",
            tested->name, other->name, other->name);
    if (other->lowest <= tested->highest)
        return wrong(
            reason, tested->line,
            "%s and %s test their tasks on the same CPU, but their priorities %d-%d and %d-%d overlap: give one of them only higher priorities",
            tested->name, other->name, tested->lowest, tested->highest, other->lowest,
            other->highest);
    return tested->judges ||
           wrong(
               reason, tested->line,
               "%s cannot judge the tasks of %s, which has higher priorities on the same CPU: give them different CPUs, or give %s a test that judges such tasks (rm: admission=rta)",
               tested->name, other->name, tested->name);
}

/* A test proves nothing if tasks of another plugin may preempt the tested task for longer than the
 * test assumes, or if the plugin cannot judge these tasks. An admission test also proves nothing
 * beside global EDF, because a task of global EDF may run on each CPU of its plugin at any time. */
static bool check_pair(const struct plugin_line *tested, const struct plugin_line *other,
                       char *reason)
{
    if (other->deadline && other->partition == PARTITION_GLOBAL)
        return wrong(
            reason, tested->line,
            "%s tests its tasks, but global EDF (%s) on the same CPU makes this test unsound: give them different CPUs, or give %s partition=unthrottled",
            tested->name, other->name, other->name);
    if (tested->deadline)
        return !other->deadline || check_deadline_pair(tested, other, reason);
    if (!other->deadline)
        return check_ranks(tested, other, reason);
    return tested->judges ||
           wrong(
               reason, tested->line,
               "%s cannot judge the SCHED_DEADLINE tasks of %s, which run above its own on the same CPU: give them different CPUs, or give %s a test that judges such tasks (rm: admission=rta)",
               tested->name, other->name, tested->name);
}

bool plugins_check_neighbours(char reason[static REASON_BYTES])
{
    for (int i = 0; i < plugins_count(); i++)
        for (int j = 0; j < plugins_count(); j++)
            if (plugin_line(i)->proves && plugins_share_cpu(i, j) &&
                !check_pair(plugin_line(i), plugin_line(j), reason))
                return false;
    return true;
}
