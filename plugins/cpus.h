/* The CPUs of a plugin, ordered by load. Worst fit (section 5.1 of the ReTiF paper) takes the least
 * loaded CPU, which is found in O(log n). */
#ifndef RTF_CPUS_H
#define RTF_CPUS_H

#include <bsd/sys/tree.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "task_set.h"

/* A task's share of one CPU. cpus_take adds the numbers of the share to the sums of the CPU, and
 * cpus_give_back subtracts the same numbers, so the sums return to zero. */
struct share {
    LIST_ENTRY(share) beside;
    struct timing timing;
    uint64_t log;    /* log2(1 + U), see hyperbolic.h; 0 if no test needs the logarithm */
    uint32_t weight; /* billionths of the CPU, at most ONE_CPU; 1 if tasks are counted */
    uint16_t place;  /* index of the CPU in cpus->cpu */
    bool foreign;    /* true: the share belongs to another plugin's task */
};

struct sums {
    uint64_t load;     /* sum of weights */
    uint64_t counted;  /* number of shares with a weight */
    uint64_t unstated; /* number of shares without a weight: their load is unknown */
    /* 128 bits, because 2^16 full CPUs (with ignored tests) exceed 64 bits */
    unsigned __int128 log;
};

struct cpu {
    RB_ENTRY(cpu) by_load;
    LIST_HEAD(, share) shares; /* the shares with a weight */
    struct sums sums;
    /* number of tasks, which decides between CPUs of equal load; always 0 unless ties_by_tasks */
    uint64_t tasks;
    uint16_t place;
    int number;
};

RB_HEAD(cpu_tree, cpu);

struct cpus {
    struct cpu_tree tree;
    struct cpu *cpu;
    int count;
    bool pooled; /* all CPUs form one pool: cpu[0] */
    bool ties_by_tasks;
    cpu_set_t set;
    bool is_within; /* the current request allows only the CPUs `within` */
    cpu_set_t within;
    int16_t place[CPU_SETSIZE]; /* index in cpu by CPU number; -1: not a CPU of this plugin */
};

RB_PROTOTYPE(cpu_tree, cpu, by_load, cpu_compare)

void cpus_init(struct cpus *cpus, const cpu_set_t *set, bool pooled, bool ties_by_tasks);

/* Returns the place of a plan's set of CPUs: the index of its one CPU, or the index of the pool.
 * -1: the set is not one CPU of this plugin, or its pool. */
int cpus_place(const struct cpus *cpus, const cpu_set_t *set);

/* cpus_take adds a share to its CPU. The caller fills all members of the share except `beside`, and
 * keeps the share until cpus_give_back removes it. */
void cpus_take(struct cpus *cpus, struct share *share);
void cpus_give_back(struct cpus *cpus, struct share *share);

/* Returns the sums of the CPU without `gone`. gone: NULL, or a share of any CPU. */
struct sums cpu_sums_without(const struct cpu *cpu, const struct share *gone);

/* Restricts the choices of CPUs that follow to the CPUs that the request allows, if the request
 * states CPUs. False: the request allows no CPU of this plugin, and the refusal is written to out.
 * cpus_keep_all ends the restriction. */
struct request;
struct paragraph_output;
bool cpus_keep_within(struct cpus *cpus, const struct request *request,
                      struct paragraph_output *out);
void cpus_keep_all(struct cpus *cpus);
bool cpu_is_open(const struct cpus *cpus, const struct cpu *cpu);

/* Returns the CPU of the share `gone`, if the request allows this CPU. Otherwise, or if gone is
 * NULL, returns NULL. */
struct cpu *cpus_own(const struct cpus *cpus, const struct share *gone);

/* Returns the next allowed CPU after `cpu`, in the order of rising load. cpu NULL: the first CPU.
 * Returns NULL after the last CPU. */
struct cpu *cpus_next(struct cpus *cpus, struct cpu *cpu);
#define CPUS_FOREACH(cpu, cpus) \
    for ((cpu) = cpus_next(cpus, NULL); (cpu) != NULL; (cpu) = cpus_next(cpus, cpu))

/* Returns the allowed CPU with the least load. The load is computed without the share `gone` (NULL:
 * with all shares). */
struct cpu *cpus_least_loaded(struct cpus *cpus, const struct share *gone);

/* The size of a text with "CPUs " and a list of CPUs. */
enum { CPU_NAME_TEXT = 4096 + 8 };

/* Writes "CPU 3", or "CPUs 0-3" for a pool. Returns text. */
char *cpu_name(const struct cpus *cpus, const struct cpu *cpu, char text[static CPU_NAME_TEXT]);

/* Writes the list of CPUs for a plan: one CPU such as "3", or the CPUs of the pool. Returns
 * text. */
char *cpu_list(const struct cpus *cpus, const struct cpu *cpu, char text[static CPU_NAME_TEXT]);

#endif
