/* The counters of rtf-metrics(1): sums over the lines of the broker's log, for root.
 *
 * The file state/metrics, which only root can read or write, has the sums, and the place in the log
 * up to which the lines are counted. So no line counts twice, and no sum becomes smaller when the
 * broker starts again, when the log is rotated, or when a rotated file is removed. A run counts
 * only the lines since the last run; the first run counts the lines of the current file of the log.
 * If a run cannot write the sums, its result is right nevertheless, and the next run counts the
 * same lines again. */
#ifndef RTF_METRICS_COUNTERS_H
#define RTF_METRICS_COUNTERS_H

#include <jansson.h>
#include <stdbool.h>

#include "client.h"

/* Counts the new lines. Until counters_end, other runs wait, so that an older run cannot replace
 * the text of a newer run. `root` is the open spool. False: there are no counters, and `why` is a
 * sentence. After true, `why` is a sentence about what went wrong; "": nothing. */
bool counters_begin(int root, char why[static CLIENT_WHY]);
void counters_end(void);

/* Writes the metrics. */
void counters_write(void);

/* Returns how often a thread of this reservation lost its real-time policy for the rest of a
 * period, because its runtime was used up. */
json_int_t counters_throttles(const char *user, const char *name);

#endif
