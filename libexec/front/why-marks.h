/* The marks of jobs (usage-marks.h) that come while rtf-why(1) records. */
#ifndef RTF_WHY_MARKS_H
#define RTF_WHY_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "client.h"
#include "trace-chosen.h"
#include "watch/lateness-causes.h"

/* Returns the deadline for jobs whose marks state none, ns: the deadline of the reservation, or
 * else its period. 0: the reservation states neither. */
int64_t why_deadline(const struct traced *thread);

/* Makes and opens the FIFOs of the chosen reservations of this user. */
void why_marks_open(const struct client *client, const struct chosen *chosen);

/* A descriptor for poll(2). If it is readable, call why_marks_read. -1: there are no FIFOs. */
int why_marks_descriptor(void);
void why_marks_read(void);

/* Reads what is left, and removes the FIFOs. */
void why_marks_close(void);

/* Returns the marked jobs of the chosen thread `index`, in the order of their releases. The caller
 * must not free the jobs. */
const struct job *why_marks_jobs(size_t index, size_t *count);

#endif
