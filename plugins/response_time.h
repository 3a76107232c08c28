/* Fixed priorities on one CPU: response-time analysis (Joseph and Pandya; Audsley et al.), which is
 * exact for deadlines up to the periods. Tasks of the same level run in order of arrival. */
#ifndef RTF_RESPONSE_TIME_H
#define RTF_RESPONSE_TIME_H

#include "task_set.h"

/* FITS if every task below LEVEL_ABOVE ends by its deadline. task: the more urgent tasks first,
 * each with C <= T. blocking: us. steps: the budget for the test, reduced by its cost. */
enum outcome response_times_fit(const struct set_task *task, size_t count, uint64_t blocking,
                                uint64_t *steps);

#endif
