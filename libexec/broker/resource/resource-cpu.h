/* Plans of CPU time: which CPUs, which policy, which priority, which runtime in which period. */
#ifndef RTF_RESOURCE_CPU_H
#define RTF_RESOURCE_CPU_H

#include <jansson.h>

#include "resource-kinds.h"

/* True: the plugin may make this plan for this spec. False: *reason names the part of the plan that
 * the plugin may not choose. */
bool cpu_plan_is_its_own(int plugin, const struct spec *spec, uint64_t max_runtime,
                         const struct attributes *plan, char reason[static REASON_BYTES]);

/* True: the plan has only CPUs that the spec allows. A plugin need not know the key "cpus". False:
 * *reason names the CPUs. */
bool cpu_plan_keeps_within(const struct spec *spec, const struct attributes *plan,
                           char reason[static REASON_BYTES]);

/* A change that a plugin makes to a plan of its own (event=update): CPUs, a priority, or both.
 * False: the message has the wrong form. */
struct cpu_move {
    bool has_cpus, has_priority;
    cpu_set_t cpus;
    int priority;
};
bool cpu_take_move(const struct paragraph *said, struct cpu_move *move);
/* False: the plugin may not move the task there. */
bool cpu_may_move(const struct grant *grant, const struct cpu_move *move, struct grant *moved);

/* op=load: what other plugins have to know of the plan. */
void cpu_tell_load(struct paragraph_output *output, const struct attributes *plan);

/* Writes the plan and its spec as lines of the journal; and reads them back, except plugin and
 * utilization. */
void cpu_record(struct paragraph_output *output, const struct grant *grant);
bool cpu_take_up(const struct paragraph *record, struct grant *grant);

/* Writes the plan as a verdict has it into `object`; all values are null without a plan. */
/* The plan as the kernel has it: with the runtime of the mode that is on. */
struct attributes cpu_in_mode(const struct grant *grant);

/* True: a thread with these attributes runs as granted. */
bool cpu_is_shown(const struct grant *grant, const struct attributes *now);

void cpu_show(json_t *object, const struct grant *grant);
/* The plan as books.json has it. */
json_t *cpu_book(const struct grant *grant);

/* The window over which the runtime is spread, us; 0: none. The weight in the line's pools is the
 * runtime over this window. */
uint64_t cpu_window(const struct grant *grant);
uint64_t cpu_utilization(const struct grant *grant);

/* The weight of a grant in its line's pools, and in the pools of CPUs that lines share. */
uint64_t cpu_weight(const struct grant *grant);
uint64_t cpu_rate(const struct grant *grant);

/* The largest runtime with which all sums would fit. */
uint64_t cpu_room(const struct grant *grant, const struct grant *old);

#endif
