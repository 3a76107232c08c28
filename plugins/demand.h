/* Earliest deadline first on one CPU: the processor demand test of Baruah, Rosier and Howell, which is exact for
 * deadlines up to the periods, by the quick convergence method of Zhang and Burns (2009). */
#ifndef RTF_DEMAND_H
#define RTF_DEMAND_H

#include "task_set.h"

/* h(t) + blocking <= t for all t. Every C <= T. */
enum outcome demand_fits(const struct set_task *task, size_t count, uint64_t blocking, uint64_t *steps);

#endif
