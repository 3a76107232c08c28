#include "cpus.h"

#include <stdio.h>
#include <string.h>

#include "plugin.h"
#include "units.h"

static int cpu_compare(const struct cpu *a, const struct cpu *b)
{
    if (a->sums.load != b->sums.load)
        return a->sums.load < b->sums.load ? -1 : 1;
    if (a->tasks != b->tasks)
        return a->tasks < b->tasks ? -1 : 1;
    return a->number - b->number;
}

RB_GENERATE(cpu_tree, cpu, by_load, cpu_compare)

static void add_cpu(struct cpus *cpus, int number)
{
    struct cpu *cpu = &cpus->cpu[cpus->count];
    cpu->number = number;
    cpu->place = (uint16_t)cpus->count++;
    LIST_INIT(&cpu->shares);
    RB_INSERT(cpu_tree, &cpus->tree, cpu);
}

void cpus_init(struct cpus *cpus, const cpu_set_t *set, bool pooled, bool ties_by_tasks)
{
    *cpus = (struct cpus){.pooled = pooled, .ties_by_tasks = ties_by_tasks, .set = *set};
    cpus->cpu = plugin_allocate(pooled ? 1 : (size_t)CPU_COUNT(set), sizeof *cpus->cpu);
    for (size_t number = 0; number < CPU_SETSIZE; number++) {
        cpus->place[number] = -1;
        if (!CPU_ISSET(number, set))
            continue;
        if (!pooled || cpus->count == 0)
            add_cpu(cpus, (int)number);
        cpus->place[number] = (int16_t)(cpus->count - 1);
    }
}

int cpus_place(const struct cpus *cpus, const cpu_set_t *set)
{
    if (cpus->pooled)
        return CPU_EQUAL(set, &cpus->set) ? 0 : -1;
    if (CPU_COUNT(set) != 1)
        return -1;
    return cpus->place[cpu_from(set, 0)];
}

void cpus_take(struct cpus *cpus, struct share *share)
{
    struct cpu *cpu = &cpus->cpu[share->place];
    RB_REMOVE(cpu_tree, &cpus->tree, cpu);
    if (share->weight > 0)
        LIST_INSERT_HEAD(&cpu->shares, share, beside);
    cpu->sums.counted += share->weight > 0;
    cpu->sums.unstated += share->weight == 0;
    cpu->sums.load += share->weight;
    cpu->sums.log += share->log;
    cpu->tasks += cpus->ties_by_tasks;
    RB_INSERT(cpu_tree, &cpus->tree, cpu);
}

void cpus_give_back(struct cpus *cpus, struct share *share)
{
    struct cpu *cpu = &cpus->cpu[share->place];
    RB_REMOVE(cpu_tree, &cpus->tree, cpu);
    if (share->weight > 0)
        LIST_REMOVE(share, beside);
    cpu->sums = cpu_sums_without(cpu, share);
    cpu->tasks -= cpus->ties_by_tasks;
    RB_INSERT(cpu_tree, &cpus->tree, cpu);
}

struct sums cpu_sums_without(const struct cpu *cpu, const struct share *gone)
{
    struct sums sums = cpu->sums;
    if (gone == NULL || gone->place != cpu->place)
        return sums;
    sums.load -= gone->weight;
    sums.log -= gone->log;
    sums.counted -= gone->weight > 0;
    sums.unstated -= gone->weight == 0;
    return sums;
}

bool cpus_keep_within(struct cpus *cpus, const struct request *request,
                      struct paragraph_output *out)
{
    char own[CPU_NAME_TEXT], asked[CPU_LIST_TEXT];
    cpu_set_t both;
    cpus->is_within = request->has_cpus;
    if (!request->has_cpus)
        return true;
    cpus->within = request->cpus;
    CPU_AND(&both, &cpus->within, &cpus->set);
    if (cpus->pooled ? CPU_EQUAL(&both, &cpus->set) : CPU_COUNT(&both) > 0)
        return true;
    format_cpus(&cpus->set, own);
    format_cpus(&cpus->within, asked);
    if (cpus->pooled && CPU_COUNT(&both) > 0)
        answer_never(out,
                     "its threads run on all CPUs %.200s and cannot be restricted to CPUs %.200s",
                     own, asked);
    else
        answer_never(out, "the plugin has CPUs %.200s, but the spec allows only CPUs %.200s", own,
                     asked);
    return false;
}

void cpus_keep_all(struct cpus *cpus)
{
    cpus->is_within = false;
}

bool cpu_is_open(const struct cpus *cpus, const struct cpu *cpu)
{
    return !cpus->is_within || cpus->pooled || CPU_ISSET((size_t)cpu->number, &cpus->within);
}

struct cpu *cpus_own(const struct cpus *cpus, const struct share *gone)
{
    struct cpu *own = gone == NULL ? NULL : &cpus->cpu[gone->place];
    return own != NULL && cpu_is_open(cpus, own) ? own : NULL;
}

struct cpu *cpus_next(struct cpus *cpus, struct cpu *cpu)
{
    do
        cpu = cpu == NULL ? RB_MIN(cpu_tree, &cpus->tree) : RB_NEXT(cpu_tree, &cpus->tree, cpu);
    while (cpu != NULL && !cpu_is_open(cpus, cpu));
    return cpu;
}

struct cpu *cpus_least_loaded(struct cpus *cpus, const struct share *gone)
{
    struct cpu *first = cpus_next(cpus, NULL);
    if (gone == NULL || !cpu_is_open(cpus, &cpus->cpu[gone->place]))
        return first;
    struct cpu relieved = cpus->cpu[gone->place];
    relieved.sums = cpu_sums_without(&relieved, gone);
    relieved.tasks -= cpus->ties_by_tasks;
    return cpu_compare(&relieved, first) < 0 ? &cpus->cpu[gone->place] : first;
}

char *cpu_list(const struct cpus *cpus, const struct cpu *cpu, char text[static CPU_NAME_TEXT])
{
    if (cpus->pooled)
        return format_cpus(&cpus->set, text);
    snprintf(text, CPU_NAME_TEXT, "%d", cpu->number);
    return text;
}

char *cpu_name(const struct cpus *cpus, const struct cpu *cpu, char text[static CPU_NAME_TEXT])
{
    char list[CPU_NAME_TEXT];
    bool several = cpus->pooled && CPU_COUNT(&cpus->set) > 1;
    snprintf(text, CPU_NAME_TEXT, "%s %.4096s", several ? "CPUs" : "CPU",
             cpu_list(cpus, cpu, list));
    return text;
}
