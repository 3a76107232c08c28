/* The measurement of one thread, or of all threads together: the modules of paper 004, sections 3.1
 * to 3.4, applied to the marks of an experiment. */
#ifndef RTF_MUSE_MEASURE_H
#define RTF_MUSE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment.h"
#include "marks.h"
#include "separations.h"
#include "supply.h"

enum outcome {
    OUTCOME_MEASURED,
    OUTCOME_NEVER_RAN,
    OUTCOME_ONE_MARK,
    OUTCOME_TOO_COARSE,
    OUTCOME_STARVED
};

struct measured {
    enum outcome outcome;
    struct sequence sequence;
    struct separations separations;
    struct supply supply; /* valid if `outcome` is MEASURED or STARVED */
    int64_t nominal;      /* the nominal length of a job, ns; 0: unknown */
    struct linear lower, upper;
    struct joint joint;
    int64_t blackout; /* ns */
    /* number of jobs that began on each CPU; lost marks are not counted */
    uint32_t *cpus;
    size_t cpu_count;
    size_t migrations;
};

struct measurement {
    struct window window;
    int64_t horizon;
    struct measured *threads; /* one per thread of the experiment, in its order */
    size_t thread_count;
    struct measured global; /* .separations.count = 0: not asked for, or nothing to measure */
    bool has_global;
};

bool measure(const struct experiment *experiment, const struct records *records, int64_t horizon,
             struct measurement *measurement, char why[static MARKS_WHY]);
void measurement_free(struct measurement *measurement);

#endif
