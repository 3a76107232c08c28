/* Asks slurmctld which node has which task of a step. */
#ifndef RTF_SLURM_STEP_LAYOUT_H
#define RTF_SLURM_STEP_LAYOUT_H

#include <stdint.h>

/* Returns the names of the nodes of tasks 0, 1, and so on, separated by commas, as `srun
 * --distribution=arbitrary` takes them after --nodelist. The caller frees the text. NULL: slurmctld
 * does not answer, or there is no memory. */
char *step_layout_nodes(uint32_t job, uint32_t step, uint32_t tasks);

#endif
