/* Says which jobs of a thread were late, and why: divides the time from the release to the end of a
 * late job into causes, and names the cause that took most beyond what a job of this thread needs.
 *
 * This file guesses nothing. If lost events could have changed which cause is the largest, the cause
 * is CAUSE_NOT_KNOWN. */
#ifndef RTF_WATCH_LATENESS_CAUSES_H
#define RTF_WATCH_LATENESS_CAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stretches.h"

enum cause {
    /* the thread ran longer than its runtime; and the throttles that follow from this */
    CAUSE_OVERRUN,
    CAUSE_THROTTLED,
    CAUSE_LOCK,
    CAUSE_INTERRUPT,
    CAUSE_FAULT,
    CAUSE_CALL,
    CAUSE_OTHERS,
    CAUSE_LOWER,
    CAUSE_ORDINARY,
    CAUSE_HOST,
    CAUSE_STOPPED,
    CAUSE_SLEPT, /* the thread slept within a job that the program has marked */
    CAUSE_NOT_KNOWN,
    CAUSES
};

/* Times are ns of CLOCK_MONOTONIC. */
struct job {
    int64_t release, end;
    int64_t deadline; /* from the release on */
    bool goes_on;     /* the job has not ended before `end` */
};

struct explained_job {
    struct job job;
    uint32_t number; /* the number of the job among all jobs, from 1 */
    int64_t ran;
    int64_t times[CAUSES]; /* CAUSE_OVERRUN: what the thread ran beyond its runtime */
    /* the times by which the causes are ordered: without the usual time of each cause */
    int64_t weights[CAUSES];
    enum cause order[CAUSES];       /* first the cause of the lateness, then the others by size */
    struct stretch longest[CAUSES]; /* the longest stretch of the cause */
};

/* Finds the jobs of a thread that does not mark them. A job begins when a pause ends, and ends when
 * the next pause begins. If the thread never pauses, each time between two sleeps is a job. Returns
 * the number of jobs, and sets *jobs (free it). false: there is no memory. */
bool jobs_find(const struct stretches *stretches, int64_t deadline, struct job **jobs,
               size_t *count);

/* Explains the late jobs among `jobs`, which are in the order of their releases. runtime: ns; 0:
 * not stated. Sets *late (free it). False: there is no memory. */
bool lateness_explain(const struct stretches *stretches, const struct job *jobs, size_t job_count,
                      int64_t runtime, struct explained_job **late, size_t *late_count);

#endif
