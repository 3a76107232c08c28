/* The CPUs of a plugin, ordered by load: the least loaded one, which worst fit takes (paper 000, 5.1), is
 * found in O(log n). */
#ifndef RTF_CPUS_H
#define RTF_CPUS_H

#include <bsd/sys/tree.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "task_set.h"

/* What one task takes of one CPU. The same numbers are given back that were taken, so sums return to zero. */
struct share {
    LIST_ENTRY(share) beside;
    struct timing timing;
    uint64_t log;    /* log2(1 + U), see hyperbolic.h; 0 where nobody asks */
    uint32_t weight; /* billionths of the CPU, at most all of it; or 1 where tasks are counted */
    uint16_t place;  /* index of the CPU in cpus->cpu */
    bool foreign;    /* another plugin's */
};

struct sums {
    uint64_t load;         /* of weights */
    uint64_t counted;      /* shares that have a weight */
    uint64_t unstated;     /* shares that have none: nobody knows what they take */
    unsigned __int128 log; /* 2^16 full CPUs, passed over the test, would exceed 64 bits */
};

struct cpu {
    RB_ENTRY(cpu) by_load;
    LIST_HEAD(, share) shares; /* those that have a weight */
    struct sums sums;
    uint64_t tasks; /* decides between equal loads; stays 0 unless ties_by_tasks */
    uint16_t place;
    int number;
};

RB_HEAD(cpu_tree, cpu);

struct cpus {
    struct cpu_tree tree;
    struct cpu *cpu;
    int count;
    bool pooled; /* all CPUs are one: cpu[0] */
    bool ties_by_tasks;
    cpu_set_t set;
    bool is_within;   /* a request is answered that may have these only: */
    cpu_set_t within;
    int16_t place[CPU_SETSIZE]; /* by number; -1: not ours */
};

RB_PROTOTYPE(cpu_tree, cpu, by_load, cpu_compare)

void cpus_init(struct cpus *cpus, const cpu_set_t *set, bool pooled, bool ties_by_tasks);

/* The place that a plan names: its one CPU, or the pool. -1: nothing of ours. */
int cpus_place(const struct cpus *cpus, const cpu_set_t *set);

/* All but `beside` is set by the caller, and stays until cpus_give_back. */
void cpus_take(struct cpus *cpus, struct share *share);
void cpus_give_back(struct cpus *cpus, struct share *share);

/* The sums as if `gone`, which may be NULL or elsewhere, were not there. */
struct sums cpu_sums_without(const struct cpu *cpu, const struct share *gone);

/* What is chosen from here on is one of those that the request may have, if it says which. False: there is none, and that is answered. */
struct request;
struct paragraph_output;
bool cpus_keep_within(struct cpus *cpus, const struct request *request, struct paragraph_output *out);
void cpus_keep_all(struct cpus *cpus);
bool cpu_is_open(const struct cpus *cpus, const struct cpu *cpu);

/* That of `gone`, if it is open; NULL. */
struct cpu *cpus_own(const struct cpus *cpus, const struct share *gone);

/* Those that are open, from the least loaded one up. */
struct cpu *cpus_next(struct cpus *cpus, struct cpu *cpu);
#define CPUS_FOREACH(cpu, cpus) for ((cpu) = cpus_next(cpus, NULL); (cpu) != NULL; (cpu) = cpus_next(cpus, cpu))

/* The least loaded one of these, as if `gone` were not there. */
struct cpu *cpus_least_loaded(struct cpus *cpus, const struct share *gone);

/* Room for "CPUs " and a list. */
enum { CPU_NAME_TEXT = 4096 + 8 };

/* "CPU 3", or "CPUs 0-3" for the pool. Returns text. */
char *cpu_name(const struct cpus *cpus, const struct cpu *cpu, char text[static CPU_NAME_TEXT]);

/* What a plan says: "3", or the pool's list. Returns text. */
char *cpu_list(const struct cpus *cpus, const struct cpu *cpu, char text[static CPU_NAME_TEXT]);

#endif
