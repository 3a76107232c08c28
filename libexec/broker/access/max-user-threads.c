#include "max-user-threads.h"

#include <stdio.h>

#include "tick.h"
#include "units.h"

/* us: beside the threads of one user, another user can still reserve RUNTIME in each WINDOW */
enum { WINDOW = 10000, RUNTIME = 4000 };
static const uint64_t most = ONE_CPU / 10 * 9; /* the part of a CPU that the kernel grants */

/* Returns the number of threads beside which the capacity `kept` stays free. With partition=global,
 * all CPUs are one pool, and the threads may take the capacity of the pool less `kept`. Otherwise
 * `kept` has to stay free only on one CPU. The bound lets the user make all CPUs but one too full
 * for `kept`, and leaves one thread too few for the last CPU. */
uint64_t tick_threads(const struct plugin_line *line)
{
    const uint64_t cpus = (uint64_t)CPU_COUNT(&line->cpus), tick = tick_length(),
                   overrun = utilization(tick < WINDOW ? tick : WINDOW, WINDOW),
                   kept = utilization(RUNTIME, WINDOW),
                   capacity = line->threshold < most ? line->threshold : most;
    uint64_t count = 0;
    if (line->partition == PARTITION_GLOBAL)
        count = capacity * cpus > kept ? (capacity * cpus - kept) / overrun : 0;
    else if (capacity > kept)
        count = ((capacity - kept) / overrun + 1) * cpus - 1;
    return count > 0 ? count : 1;
}

/* The rule bounds the number of threads, so the rule would refuse every other runtime, too. The
 * refusal names no counter, because a reservation whose grant gets smaller still counts as one
 * thread. */
void judge_threads(struct question *question, const struct rule *rule)
{
    const uint64_t used = rule_used(question, rule);
    char tick[40] = "";
    if (used < rule->value)
        return;
    const bool first = !question->denied;
    question->ceiling = 0;
    if (rule->tick)
        snprintf(tick, sizeof tick, ", tick allows %llu", (unsigned long long)rule->value);
    rule_denies(question, rule, rule->value == 0 ? NONE : WHEN_FREED, "%llu used, 1 asked%s",
                (unsigned long long)used, tick);
    if (first) {
        snprintf(question->refusal->asked, sizeof question->refusal->asked, "1");
        snprintf(question->refusal->available, sizeof question->refusal->available, "0");
    }
}
