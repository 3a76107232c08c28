/* Earliest deadline first on one CPU: the processor demand test of Baruah, Rosier and Howell, which
 * is exact for deadlines up to the periods. The search is quick convergence, by Zhang and Burns
 * (2009). */
#ifndef RTF_DEMAND_H
#define RTF_DEMAND_H

#include "task_set.h"

/* h(t) is the demand: the runtime of all jobs that begin and are due within an interval of t us.
 * FITS if h(t) + blocking <= t for all t. If tasks have an overrun, h(t) is enlarged by the time
 * that tasks of other users can take beyond h(t). Requires C <= T for every task. steps: the budget
 * for the search, reduced by its cost. */
enum outcome demand_fits(const struct set_task *task, size_t count, uint64_t blocking,
                         uint64_t *steps);

#endif
