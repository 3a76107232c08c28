/* Cancels a step when its srun is killed.
 *
 * Slurm lets the tasks of a step run on when their srun(1) is killed (SIGKILL), and with them their
 * reservations. So srun has a child that waits for the end of srun. */
#ifndef RTF_SLURM_SRUN_END_H
#define RTF_SLURM_SRUN_END_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the child. False with errno. */
bool srun_end_watch(uint32_t job, uint32_t step);

/* Ends the child: srun ends in an orderly way. */
void srun_end_forget(void);

#endif
