/* Computes how much CPU time the jobs of a periodic thread take, in ns. */
#ifndef RTF_LEARN_JOB_TIMES_H
#define RTF_LEARN_JOB_TIMES_H

#include "bursts.h"
#include "rhythm.h"

struct job_times {
    size_t jobs;
    int64_t mean, percentile_99, longest; /* 99 of 100 jobs take at most percentile_99 */
};

/* Adds up the bursts (bursts.h) of each period. A period without a burst is no job, and jobs with
 * doubtful bursts do not count. The first and the last period do not count, because parts of them
 * may not have been observed. False: there is no job, or no memory. */
bool job_times_measure(const struct bursts *bursts, const struct rhythm *rhythm,
                       struct job_times *times);

#endif
