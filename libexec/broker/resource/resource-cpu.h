/* Plans of CPU time. A plan says on which CPUs, under which policy and priority, and for which
 * runtime in which period a thread runs. */
#ifndef RTF_RESOURCE_CPU_H
#define RTF_RESOURCE_CPU_H

#include <jansson.h>

#include "resource-kinds.h"

/* True: the plugin can give the spec's keys "reclaim" and "overrun_signal". False: *reason is a
 * sentence. */
bool cpu_allows_flags(int plugin, const struct spec *spec, char reason[static REASON_BYTES]);

/* True: the plugin may offer this plan for this spec. False: *reason names the part of the plan
 * that the plugin may not choose. */
bool cpu_plan_is_its_own(int plugin, const struct spec *spec, uint64_t max_runtime,
                         const struct attributes *plan, char reason[static REASON_BYTES]);

/* True: the plan has only CPUs that the spec allows. The broker checks this because a plugin need
 * not know the key "cpus". False: *reason names the CPUs that the spec allows. */
bool cpu_plan_keeps_within(const struct spec *spec, const struct attributes *plan,
                           char reason[static REASON_BYTES]);

/* A change that a plugin makes to a plan of one of its tasks (event=update): other CPUs, another
 * priority, or both. cpu_take_move reads the change from the plugin's message. False: the message
 * has the wrong form. */
struct cpu_move {
    bool has_cpus, has_priority;
    cpu_set_t cpus;
    int priority;
};
bool cpu_take_move(const struct paragraph *said, struct cpu_move *move);
/* Sets *moved to the grant with this change. False: the plugin may not make this change. */
bool cpu_may_move(const struct grant *grant, const struct cpu_move *move, struct grant *moved);

/* Writes the lines about the plan for op=load, the message that tells other plugins how a task
 * loads its CPUs. */
void cpu_tell_load(struct paragraph_output *output, const struct attributes *plan);

/* Writes into a question to this plugin whether a timer of the kernel ends runtimes. The line says
 * yes only if the broker has measured this and keeps the timer on itself, because another program
 * may turn off a timer that the broker does not keep on. */
void cpu_tell_timer(struct paragraph_output *output, int plugin);

/* cpu_record writes the plan and its spec as lines of a journal record. cpu_take_up reads these
 * lines; the caller reads the plugin and the utilization. */
void cpu_record(struct paragraph_output *output, const struct grant *grant);
bool cpu_take_up(const struct paragraph *record, struct grant *grant);

/* Returns the plan with the runtime of the spec's present mode. The kernel is asked for this
 * plan. */
struct attributes cpu_in_mode(const struct grant *grant);

/* True: a thread with the attributes `now` runs as granted. */
bool cpu_is_shown(const struct grant *grant, const struct attributes *now);

/* Sets the keys of the plan in `object`, in the form that verdicts have. If the grant has no plan,
 * the value of each key is null. */
void cpu_show(json_t *object, const struct grant *grant);

/* Returns the plan in the form that books.json has. */
json_t *cpu_book(const struct grant *grant);

/* The window over which the runtime is spread, us; 0: the grant has no window. cpu_utilization is
 * the runtime divided by the window. */
uint64_t cpu_window(const struct grant *grant);
uint64_t cpu_utilization(const struct grant *grant);

/* cpu_weight: the amount that the grant takes from its line's pools. cpu_rate: the amount that the
 * grant takes from the pools of CPUs that lines share. */
uint64_t cpu_weight(const struct grant *grant);
uint64_t cpu_rate(const struct grant *grant);

/* The largest runtime with which the grant would fit into all pools, with `old` removed. */
uint64_t cpu_room(const struct grant *grant, const struct grant *old);

#endif
