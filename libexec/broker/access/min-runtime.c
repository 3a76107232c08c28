#include "min-runtime.h"

#include <stdio.h>

#include "plugin-lines.h"
#include "spec.h"
#include "tick.h"

/* True: the min_runtime rule bounds this plugin. `min_runtime tick` bounds only plugins whose
 * runtimes the kernel ends at a tick. */
static bool rule_bounds_least(const struct rule *rule, int plugin)
{
    return !rule->tick || (!tick_is_not_awaited() && plugin_line(plugin)->deadline);
}

void judge_least_runtime(struct question *question, const struct rule *rule)
{
    const uint64_t asked = spec_least_runtime(question->spec);
    char tick[40] = "";
    if (!rule_bounds_least(rule, question->plugin))
        return;
    if (asked == 0) {
        rule_denies(question, rule, NONE, "the spec states no runtime");
        return;
    }
    if (rule->value > question->least)
        question->least = rule->value;
    if (asked >= rule->value)
        return;
    if (rule->tick)
        snprintf(tick, sizeof tick, ", a tick is %lluus", (unsigned long long)rule->value);
    /* the runtime that is too small belongs to a mode of the spec, so another runtime of the spec
     * itself would not help */
    const bool of_a_mode = asked < question->spec->runtime;
    rule_denies(question, rule, of_a_mode ? NONE : OTHER_RUNTIME, "%lluus asked%s%s",
                (unsigned long long)asked, of_a_mode ? " in a mode" : "", tick);
    refusal_tell_time(question->refusal, asked, rule->value);
}
