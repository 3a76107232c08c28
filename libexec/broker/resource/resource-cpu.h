/* CPU time, as plans say it: which CPUs, which policy, which priority, which runtime in which period. */
#ifndef RTF_RESOURCE_CPU_H
#define RTF_RESOURCE_CPU_H

#include <jansson.h>

#include "resource-kinds.h"

/* Is this plan one that the plugin may make for this spec? False: *reason names what is not its own. */
bool cpu_plan_is_its_own(int plugin, const struct spec *spec, uint64_t max_runtime, const struct attributes *plan, char reason[static REASON_BYTES]);

/* Has it only CPUs that the spec wants? Not each plugin knows of that. False: *reason says so. */
bool cpu_plan_keeps_within(const struct spec *spec, const struct attributes *plan, char reason[static REASON_BYTES]);

/* What a plugin moves of a plan of its own, in `update`: CPUs, a priority, or both. False: that has not the form. */
struct cpu_move {
    bool has_cpus, has_priority;
    cpu_set_t cpus;
    int priority;
};
bool cpu_take_move(const struct paragraph *said, struct cpu_move *move);
/* False: to where it may not be. */
bool cpu_may_move(const struct grant *grant, const struct cpu_move *move, struct grant *moved);

/* op=load: what another plugin has to know of it. */
void cpu_tell_load(struct paragraph_output *output, const struct attributes *plan);

/* As lines of the journal, with what the spec says of it. And back, without plugin and utilization. */
void cpu_record(struct paragraph_output *output, const struct grant *grant);
bool cpu_take_up(const struct paragraph *record, struct grant *grant);

/* As a verdict says it, into `object`; all null where there is none. */
/* The plan as the kernel has it: with the runtime of the mode that is on. */
struct attributes cpu_in_mode(const struct grant *grant);

/* Whether a thread that is so runs as granted. */
bool cpu_is_shown(const struct grant *grant, const struct attributes *now);

void cpu_show(json_t *object, const struct grant *grant);
/* As books.json says it. */
json_t *cpu_book(const struct grant *grant);

/* The window over which its runtime is spread: what it weighs in its line's pools is its runtime in each of that length. 0: none. */
uint64_t cpu_window(const struct grant *grant);
uint64_t cpu_utilization(const struct grant *grant);

/* What a grant weighs: in its line's pools, and in those of all lines of a CPU. */
uint64_t cpu_weight(const struct grant *grant);
uint64_t cpu_rate(const struct grant *grant);

/* The largest runtime, all else equal, with which all sums would hold. */
uint64_t cpu_room(const struct grant *grant, const struct grant *old);

#endif
