/* Random task sets, the same for the same seed and number on every machine with IEEE arithmetic. */
#ifndef RTF_ORACLE_GENERATE_H
#define RTF_ORACLE_GENERATE_H

#include "simulate.h"

struct random {
    uint64_t state;
};

struct random random_start(uint64_t seed, uint64_t number);
double random_unit(struct random *random); /* [0, 1) */
int64_t random_below(struct random *random, int64_t limit);

/* Utilizations with this sum, none above 1, uniformly distributed (UUniFast; with discarding above
 * a sum of 1). */
void uunifast(struct random *random, int count, double sum, double utilization[]);

/* Makes 2 to 12 tasks for this number of CPUs. Depending on `number`, the load is brought near the
 * boundary of another test; the boundaries of the exact tests are found by simulation, to the
 * microsecond. */
void generate(struct task_set *set, uint64_t seed, uint64_t number, int cpus);

/* Makes the runtimes of a set shorter, because its one CPU gives only this supply. The load of most
 * sets is then brought to the boundary of an exact test for this supply, found by simulation. */
void generate_for_supply(struct task_set *set, const struct supply *supply, uint64_t seed,
                         uint64_t number);

/* The same for a set of which some tasks have a blocking time. */
void generate_blocked(struct task_set *set, const struct supply *supply, uint64_t seed,
                      uint64_t number);

#endif
