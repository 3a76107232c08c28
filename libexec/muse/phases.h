/* What jobs do (paper 004, section 4), and what a loop of it costs. */
#ifndef RTF_MUSE_PHASES_H
#define RTF_MUSE_PHASES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment.h"

enum { PHASES_WHY = 256 };

typedef void user_phase(int thread, long loops);

/* What all threads have in common. */
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
bool body_make(const struct member *member, int thread, struct body *body, char why[static PHASES_WHY]);

/* One job. begun: when that was; returned is when it ended, so that the next one begins then. 0: unknown, now. Only phases that watch the clock know. */
int64_t body_run(const struct body *body, struct resources *resources, int64_t begun);

/* The least of some runs of this body, without sleep phases, ns; 0: cannot be told beforehand. */
int64_t body_cost(const struct body *body, struct resources *resources);

#endif
