/* Earliest deadline first on one CPU: the processor demand test of Baruah, Rosier and Howell, which
 * is exact for deadlines up to the periods. The search is quick convergence, by Zhang and Burns
 * (2009). */
#ifndef RTF_DEMAND_H
#define RTF_DEMAND_H

#include "task_set.h"

/* FITS if h(t) + blocking + overruns(t) <= t for all t (us), where overruns(t) is the largest
 * `overruns` of a task whose deadline is at most t. Requires C <= T for every task. steps: the
 * budget for the search, reduced by its cost. */
enum outcome demand_fits(const struct set_task *task, size_t count, uint64_t blocking,
                         uint64_t *steps);

#endif
