/* Measures one thread, or all threads together. Applies the modules of paper 004 (sections 3.1 to
 * 3.4) to the marks of an experiment. */
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
    /* the number of jobs that began on each CPU; jobs whose marks are lost do not count */
    uint32_t *cpus;
    size_t cpu_count;
    size_t migrations;
};

struct measurement {
    struct window window;
    int64_t horizon;
    struct measured *threads; /* one entry for each thread, in the order of the experiment */
    size_t thread_count;
    /* all threads together; .separations.count = 0: the experiment does not ask for this, or there
     * is nothing to measure */
    struct measured global;
    bool has_global;
};

bool measure(const struct experiment *experiment, const struct records *records, int64_t horizon,
             struct measurement *measurement, char why[static MARKS_WHY]);
void measurement_free(struct measurement *measurement);

#endif
