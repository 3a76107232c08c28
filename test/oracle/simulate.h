/* Simulates the scheduler with a task set, event by event in whole microseconds. The simulation is
 * the oracle's own model and shares no code with the plugins. */
#ifndef RTF_ORACLE_SIMULATE_H
#define RTF_ORACLE_SIMULATE_H

#include <stdbool.h>
#include <stdint.h>

enum { TASKS_MAX = 32, LAYERS = 3 };

enum policy { POLICY_DEADLINE, POLICY_FIFO };

struct task {
    int64_t runtime, deadline, period; /* us; runtime <= deadline <= period */
    int layer;                         /* the task's plugin in a stack of plugins; 0 is on top */
    enum policy policy;
    int priority, cpu;
    int64_t blocking; /* us: how long a thread of lower rank delays a job of the task */
};

/* The least time that a CPU gives. It gives none until `first`, in us. Then it alternates between
 * `on` and `off` us; off = 0: it stays on. While it is on, it does rate / whole us of work in a us. */
struct supply {
    int64_t first, on, off, rate, whole;
};

#define WHOLE_CPU ((struct supply){0, 0, 0, 1, 1})

struct task_set {
    int count;
    struct task task[TASKS_MAX];
    struct supply supply; /* rate 0: WHOLE_CPU */
    /* us: how far a thread can overrun. Then the tasks of a layer have one user, and the sets below
     * are those of a user whose threads keep to their runtimes while all others overrun. */
    int64_t overrun;
};

struct miss {
    int task; /* the task's place in the set */
    /* us: the deadline of the job that misses, from the common release of all tasks on */
    int64_t at;
};

/* Policies and priorities for a set on one CPU. */
enum arrangement {
    ALL_DEADLINE,
    ALL_RATE_MONOTONIC,
    TWO_LAYERS,   /* layer 0 SCHED_DEADLINE, all others rate monotonic */
    THREE_LAYERS, /* rate monotonic in two ranges below SCHED_DEADLINE */
};

/* All tasks on CPU 0. Rate monotonic with enough levels: equal periods share a level, different
 * periods do not. */
void arrange(struct task_set *set, enum arrangement arrangement);

/* True if both sets have the same order of priorities and the same CPUs. */
bool same_order(const struct task_set *a, const struct task_set *b);

/* True if a job misses its deadline within a hyperperiod, with all tasks released at 0; each CPU is
 * simulated separately. With overruns only jobs of the user count whose threads do not overrun. */
bool partitioned_misses(const struct task_set *set, struct miss *miss);

/* Like partitioned_misses, under global EDF on this number of CPUs. */
bool global_misses(const struct task_set *set, int cpus, struct miss *miss);

int64_t hyperperiod(const struct task_set *set);

#endif
