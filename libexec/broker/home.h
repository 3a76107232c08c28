/* Where the broker and its parts run.
 *
 * A real-time thread that another one wakes is put on another CPU, if it may go there (select_task_rq_rt in the kernel), and a request
 * takes 25 to 100 us longer than where all of them are on one: so they stay together. But before a SCHED_DEADLINE thread, whatever
 * their rank, they give way, and have to be able to go elsewhere: they keep off the CPUs where such threads are pinned, and if that
 * leaves none, or such threads may be anywhere, they stay together only as long as none is granted. Nor do they while the broker is too
 * busy to let the plugins run beside it. */
#ifndef RTF_HOME_H
#define RTF_HOME_H

#include <stdbool.h>
#include <stdint.h>

/* By plugins.conf. Before the starter is forked. */
void home_choose(void);

/* What has just been granted is SCHED_DEADLINE, perhaps: before it is enforced. */
void home_leave(void);

/* After each turn, and at home_deadline (CLOCK_MONOTONIC, ns; INT64_MAX: never). busy: the next one will not wait. */
void home_keep(bool busy);
int64_t home_deadline(void);

#endif
