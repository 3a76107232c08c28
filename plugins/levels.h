/* From what tasks ask for to priority levels, keeping the order.
 *
 * A key is what a task asks for as a number: more is more urgent (a requested priority; for rate monotonic
 * a shorter period). On each CPU the keys in use are mapped to the levels of the plugin's range so that
 *
 *   - a higher key never gets a lower level, and equal keys get the same one;
 *   - two different keys share a level only while no level is free: hence only if there are more keys than
 *     levels, and they are taken apart again when there are not;
 *   - as few keys as possible are moved for that: each task of a moved key costs a system call. */
#ifndef RTF_LEVELS_H
#define RTF_LEVELS_H

#include <bsd/sys/tree.h>
#include <sys/queue.h>

#include "books.h"
#include "units.h"

struct level_key {
    RB_ENTRY(level_key) by_key;
    STAILQ_ENTRY(level_key) next_moved;
    LIST_HEAD(, task) tasks;
    uint32_t key;
    uint8_t level;
    uint8_t was; /* before the change that is being tried; 0: not moved by it */
};

RB_HEAD(key_tree, level_key);

/* One CPU's keys, from the least urgent one up. */
struct ladder {
    struct key_tree keys;
    STAILQ_HEAD(, level_key) moved;
    uint32_t distinct;               /* keys */
    uint32_t used;                   /* levels that have a key */
    uint32_t at[PRIORITY_MAX + 1];   /* keys on each level */
};

struct levels {
    int low, high;
    int count;
    struct ladder *ladder; /* by place */

    /* After a restart the broker gives every task back with `schedule`, in any order, and keys that share a
     * level by their plans must not be torn apart for the ones that are still to come. The first other
     * request shows that all have come; the first change after it makes good what then is not in order. */
    bool restoring, unsettled;
};

enum level_origin {
    LEVEL_PREFERRED, /* take that level if it is free and in order */
    LEVEL_OFFERED,   /* the plan was made from these books: make the room it counted on */
    LEVEL_RESTORED,  /* the plan is from before a restart: take it unless it breaks the order */
};

/* A change that has been made but can still be taken back. */
struct level_trial {
    const struct task *task; /* NULL: a new one */
    struct ladder *from, *to;
    struct level_key *old, *new;
    bool vacated; /* old has lost its last task */
    bool fresh;   /* new is not in use yet */
};

void levels_init(struct levels *levels, int low, int high, int count);

/* Whether key would have a level to itself, or its own already, if `leaving` (NULL: nobody) were gone. */
bool levels_have_room(const struct levels *levels, int place, uint32_t key, const struct task *leaving);

/* Tries `task` (NULL for a new one) with key on the CPU at `place`. level 0: the middle of what is free
 * between the neighbours. Returns the level it would have. One of levels_keep and levels_undo must follow. */
int levels_try(struct levels *levels, struct level_trial *trial, const struct task *task, int place,
               uint32_t key, int level, enum level_origin origin);

/* Tries without `task`. */
void levels_try_release(struct levels *levels, struct level_trial *trial, const struct task *task);

/* Keeps it; `task` is the one entered meanwhile, or NULL after levels_try_release, whose task is still
 * there. Writes update paragraphs for other tasks that have to move, in an order that never inverts two. */
void levels_keep(struct levels *levels, struct level_trial *trial, struct task *task,
                 struct paragraph_output *out);
void levels_undo(struct level_trial *trial);

/* After levels_keep: what restoring has left behind on other CPUs. */
void levels_settle(struct levels *levels, struct paragraph_output *out);

#endif
