/* Tasks with POSIX priorities: books and levels together, for the plugins on SCHED_FIFO and
 * SCHED_RR. Each plugin only chooses the CPU, the weight and the key of a task. */
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

/* Writes answer= and the plan for the CPU at `place`; with commit the task is entered. partial:
 * NULL, or the reason why the answer is not a full ok; then nothing is entered, because the broker
 * may find a better plugin. */
void ranked_grant(struct ranked *ranked, const struct request *request, int place,
                  const struct rank *rank, const char *partial, struct paragraph_output *out);

/* Handles op=schedule. rank->level: the level in the plan. */
void ranked_schedule(struct ranked *ranked, const struct request *request, const struct rank *rank,
                     struct paragraph_output *out);

/* Handles op=release. */
void ranked_release(struct ranked *ranked, uint64_t id, struct paragraph_output *out);

#endif
