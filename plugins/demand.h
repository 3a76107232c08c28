/* Tests whether tasks keep their deadlines under earliest deadline first on one CPU. This is the
 * processor demand test of Baruah, Rosier and Howell, which is exact for deadlines up to the
 * periods. The search follows Zhang and Burns (quick convergence, 2009). */
#ifndef RTF_DEMAND_H
#define RTF_DEMAND_H

#include "task_set.h"

/* h(t) is the demand: the runtime of all jobs that begin and are due within an interval of t us.
 * FITS if h(t) + blocking <= t for all t. If tasks have an overrun, the test adds to h(t) the time
 * that tasks of other users can take beyond h(t). Requires a runtime of at most the period for
 * every task. steps: the number of steps that the search may take; the function subtracts the steps
 * that the search took. */
enum outcome demand_fits(const struct set_task *task, size_t count, uint64_t blocking,
                         uint64_t *steps);

#endif
