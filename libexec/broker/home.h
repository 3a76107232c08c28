/* Where the broker and its parts run.
 *
 * A real-time thread that another one wakes is put on another CPU, if it may go there (select_task_rq_rt in the kernel), and a request
 * takes 25 to 100 us longer than where all of them are on one: so they stay together. But before a SCHED_DEADLINE thread, whatever
 * their rank, they give way, and have to be able to go elsewhere: they keep off the CPUs where such threads are pinned, and where
 * they may be anywhere, they stay together only as long as there are none. */
#ifndef RTF_HOME_H
#define RTF_HOME_H

#include <stdint.h>

/* By plugins.conf. Before the starter is forked. */
void home_choose(void);

/* For now; to be called again after each turn, and at home_deadline (CLOCK_MONOTONIC, ns; INT64_MAX: never). */
void home_keep(void);
int64_t home_deadline(void);

#endif
