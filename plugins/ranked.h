/* Tasks with POSIX priorities: books and levels together, for the plugins on SCHED_FIFO and SCHED_RR. What
 * is left to each of them is which CPU, what it weighs there, and what its key is. */
#ifndef RTF_RANKED_H
#define RTF_RANKED_H

#include "levels.h"

struct ranked {
    struct books books;
    struct levels levels;
    const char *policy;
};

/* What a plugin makes of a request. */
struct rank {
    uint32_t key;    /* more is more urgent */
    int level;       /* preferred; 0: none */
    uint32_t weight; /* of its share of a CPU */
    struct timing timing;
};

void ranked_init(struct ranked *ranked, const struct config *config, const char *policy);

/* answer= and the plan for the CPU at `place`, and with commit the grant. `partial` is NULL or why the answer
 * is no full ok, and then nothing is granted yet: the broker may find another plugin that does better. */
void ranked_grant(struct ranked *ranked, const struct request *request, int place, const struct rank *rank,
                  const char *partial, struct paragraph_output *out);

/* op=schedule, rank->level being the plan's. */
void ranked_schedule(struct ranked *ranked, const struct request *request, const struct rank *rank,
                     struct paragraph_output *out);

/* op=release. */
void ranked_release(struct ranked *ranked, uint64_t id, struct paragraph_output *out);

#endif
