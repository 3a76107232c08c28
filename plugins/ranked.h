/* The code that the plugins for SCHED_FIFO and SCHED_RR share. It keeps the books (books.h) and the
 * priority levels (levels.h) of their tasks. Each plugin only chooses the CPU, the weight and the
 * key of a task. */
#ifndef RTF_RANKED_H
#define RTF_RANKED_H

#include "levels.h"

struct ranked {
    struct books books;
    struct levels levels;
    const char *policy;
};

/* The rank of a task: a plugin's decision about a request. */
struct rank {
    uint32_t key;    /* a larger key is more urgent */
    int level;       /* the preferred level; 0: none */
    uint32_t weight; /* the weight of the share of a CPU */
    struct timing timing;
};

void ranked_init(struct ranked *ranked, const struct config *config, const char *policy);

/* Writes answer= and the plan for the CPU at `place`. If the request has commit, enters the task
 * into the books. partial: NULL, or the reason why the answer is "partial" and not "ok". After
 * "partial" no task is entered, because the broker may find a better plugin. */
void ranked_grant(struct ranked *ranked, const struct request *request, int place,
                  const struct rank *rank, const char *partial, struct paragraph_output *out);

/* Handles the request op=schedule: enters the task with its plan. rank->level: the level in the
 * plan. */
void ranked_schedule(struct ranked *ranked, const struct request *request, const struct rank *rank,
                     struct paragraph_output *out);

/* Handles the request op=release: removes the task. */
void ranked_release(struct ranked *ranked, uint64_t id, struct paragraph_output *out);

#endif
