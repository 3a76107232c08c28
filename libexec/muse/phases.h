/* Runs the phases of jobs (paper 004, section 4), and measures the cost of a job. */
#ifndef RTF_MUSE_PHASES_H
#define RTF_MUSE_PHASES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment.h"

enum { PHASES_WHY = 256 };

typedef void user_phase(int thread, long loops);

/* Objects that all threads share. */
struct resources {
    pthread_mutex_t *locks;
    pthread_mutex_t buffer_lock;
    double *buffer;
    int64_t buffer_doubles;
};

struct step {
    const struct phase *phase;
    user_phase *user;
};

struct body {
    struct step *steps;
    size_t count;
    int thread; /* from 0 */
};

bool resources_make(const struct experiment *experiment, struct resources *resources);
bool body_make(const struct member *member, int thread, struct body *body,
               char why[static PHASES_WHY]);

/* Runs one job. begun: when the job began. Returns the time at which the job ended, so that the
 * next job can begin at this time. Returns 0 if the end is not known, and then the next job begins
 * at the current time. Only a job that ends with a watch phase returns a time. */
int64_t body_run(const struct body *body, struct resources *resources, int64_t begun);

/* Runs this job some times, without its sleep phases, and returns the time of the shortest run, in
 * ns; 0: the time cannot be known beforehand. */
int64_t body_cost(const struct body *body, struct resources *resources);

#endif
