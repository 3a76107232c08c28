/* Cancels a step when its srun is killed.
 *
 * If the srun(1) of a step is killed (SIGKILL), Slurm lets the tasks run on, and the tasks keep
 * their reservations. So srun has a child that waits for the end of srun, and then cancels the
 * step. */
#ifndef RTF_SLURM_SRUN_END_H
#define RTF_SLURM_SRUN_END_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the child. False: errno says why. */
bool srun_end_watch(uint32_t job, uint32_t step);

/* Ends the child. Call this when srun ends in an orderly way. */
void srun_end_forget(void);

#endif
