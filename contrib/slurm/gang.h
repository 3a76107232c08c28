/* Reserves on all nodes of a step before the step starts, or on none. Runs in srun.
 *
 * A mini-step, which srun(1) starts beside the step, has one holder (rtf-slurm-hold.c) for each
 * task. Each holder reserves on its node, says so, and keeps the reservation until the task takes
 * over the reservation. If a holder ends before, its reservation ends, too. */
#ifndef RTF_SLURM_GANG_H
#define RTF_SLURM_GANG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gang {
    uint32_t job, step, tasks;
    const char *nodes;  /* the nodes of the tasks (step_layout_nodes) */
    const char *option; /* the value of --rtf */
    const char *holder; /* the path of rtf-slurm-hold */
    const char *spool;  /* a pattern of the spool's path, as for node_spool; "": the usual spool */
};

/* Waits until all holders have reserved. False: `tell` got a sentence for each failure, and no
 * reservation is left. */
bool gang_reserve(const struct gang *gang, void (*tell)(const char *sentence));

/* Ends the mini-step, and so all reservations that no task has taken over. */
void gang_end(void);

#endif
