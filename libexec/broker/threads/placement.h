/* Where the broker and its helper processes run.
 *
 * A real-time thread that another one wakes is put on another CPU, if it may go there (select_task_rq_rt in the kernel), and a request
 * takes 25 to 100 us longer than where all of them are on one: so they stay together. But before a SCHED_DEADLINE thread, whatever
 * their rank, they give way: they keep off the CPUs where such threads are pinned, and if that leaves none, or such threads may be
 * anywhere, they stay together only on a CPU where it is, by the parameters of those that are attached, the shorter wait; and where
 * there is none they have to be able to go elsewhere. Nor are they together while the broker is too busy to let the plugins run
 * beside it. */
#ifndef RTF_PLACEMENT_H
#define RTF_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

struct attributes;
struct presence;

/* By plugins.conf. Before the launcher is forked. */
void placement_choose(void);

/* The thread is about to run like this, and no more as it did; NULL: it is gone. */
void placement_expect(struct presence *presence, const struct attributes *plan);

/* After each turn. busy: the next one will not wait. */
void placement_keep(bool busy);

#endif
