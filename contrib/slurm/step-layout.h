/* Which node has which task of a step, by slurmctld. */
#ifndef RTF_SLURM_STEP_LAYOUT_H
#define RTF_SLURM_STEP_LAYOUT_H

#include <stdint.h>

/* Returns the names of the nodes of tasks 0, 1, and so on, with commas, as srun --nodelist
 * --distribution=arbitrary takes them. The caller frees the text. NULL: slurmctld does not answer,
 * or there is no memory. */
char *step_layout_nodes(uint32_t job, uint32_t step, uint32_t tasks);

#endif
