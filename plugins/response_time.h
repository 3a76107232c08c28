/* Fixed priorities on one CPU: response-time analysis (Joseph and Pandya; Audsley et al.), which is exact for
 * deadlines up to the periods. Tasks of the same level run in the order in which they come. */
#ifndef RTF_RESPONSE_TIME_H
#define RTF_RESPONSE_TIME_H

#include "task_set.h"

/* Whether every task below LEVEL_ABOVE is done by its deadline. The more urgent come first; every C <= T. */
enum outcome response_times_fit(const struct set_task *task, size_t count, uint64_t blocking, uint64_t *steps);

#endif
