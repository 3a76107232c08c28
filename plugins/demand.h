/* Tests whether tasks keep their deadlines under earliest deadline first on one CPU. This is the
 * processor demand test of Baruah, Rosier and Howell, which is exact for deadlines up to the
 * periods. The search follows Zhang and Burns (quick convergence, 2009). The blocking times of tasks
 * count as in the test of Baker ("Stack-Based Scheduling of Realtime Processes", 1991): the largest
 * one of the tasks that are due within the interval. */
#ifndef RTF_DEMAND_H
#define RTF_DEMAND_H

#include "task_set.h"

/* h(t) is the demand: the runtime of all jobs that begin and are due within an interval of t us, and
 * the largest blocking time of these jobs.
 * FITS if the CPU surely gives h(t) + blocking within t, for all t from the shortest tested
 * deadline on. If tasks have an overrun, the test adds to h(t) the time that tasks of other users
 * can take beyond h(t). Requires a runtime of at most the period for every task. steps: the number
 * of steps that the search may take; the function subtracts the steps that the search took. */
enum outcome demand_fits(const struct set_task *task, size_t count, struct conditions conditions,
                         uint64_t *steps);

#endif
