/* Tests whether tasks with fixed priorities keep their deadlines on one CPU. This is response-time
 * analysis (Joseph and Pandya; Audsley et al.), which is exact for deadlines up to the periods.
 * Tasks of the same level run in order of arrival. The blocking times are those of Sha, Rajkumar and
 * Lehoczky ("Priority Inheritance Protocols", 1990): a response time has the blocking time of its own
 * level, and none of other levels. */
#ifndef RTF_RESPONSE_TIME_H
#define RTF_RESPONSE_TIME_H

#include "task_set.h"

/* FITS if each job of every task below LEVEL_ABOVE ends by its deadline. task: the tasks, the more
 * urgent ones first, each with a runtime of at most its period. steps: the number of steps that the
 * test may take; the function subtracts the steps that the test took. */
enum outcome response_times_fit(const struct set_task *task, size_t count,
                                struct conditions conditions, uint64_t *steps);

#endif
