/* Maps the requests of tasks to priority levels and keeps their order.
 *
 * A key is the number that a task asks for: a larger key is more urgent. For fp and rr the key is
 * the requested priority; for rate monotonic a shorter period gives a larger key. On each CPU the
 * keys in use are mapped to the levels of the plugin's range so that
 * - a larger key never gets a lower level, and equal keys get the same level;
 * - two keys share a level only while no level is free, that is, if there are more keys than
 *   levels; they are separated as soon as a level is free;
 * - as few keys as possible move, because each task of a moved key costs a system call. */
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
    uint8_t was; /* the level before the tentative change; 0: the change has not moved the key */
};

RB_HEAD(key_tree, level_key);

/* The keys of one CPU, from the least urgent one up. */
struct ladder {
    struct key_tree keys;
    STAILQ_HEAD(, level_key) moved;
    uint32_t distinct;             /* number of keys */
    uint32_t used;                 /* number of levels with a key */
    uint32_t at[PRIORITY_MAX + 1]; /* number of keys on each level */
};

struct levels {
    int low, high;
    int count;
    struct ladder *ladder; /* by the CPU's place */

    /* After a restart the broker sends every task with `schedule`, in any order. Keys that share a
     * level in their plans must not be separated before all tasks have come. The first request
     * other than `schedule` shows that all tasks have come, and the first change after it puts all
     * levels in order. */
    bool restoring, unsettled;
};

enum level_origin {
    LEVEL_PREFERRED, /* take the level if it is free and keeps the order */
    /* this plugin has computed the plan from its present keys: move keys as the plan assumed */
    LEVEL_OFFERED,
    LEVEL_RESTORED, /* the plan is from before a restart: take it unless it breaks the order */
};

/* A trial: a tentative change, which the caller then keeps or undoes. */
struct level_trial {
    const struct task *task; /* NULL: a new task */
    struct ladder *from, *to;
    struct level_key *old, *new;
    bool vacated; /* the key `old` has lost its last task */
    bool fresh;   /* no other task has the key `new` */
};

void levels_init(struct levels *levels, int low, int high, int count);

/* True if `key` has a level of its own, or can get one, after the task `leaving` has left (NULL: no
 * task leaves). */
bool levels_have_room(const struct levels *levels, int place, uint32_t key,
                      const struct task *leaving);

/* Tentatively puts `task` (NULL: a new task) with this key on the CPU at `place`. level = 0: the
 * middle of the free levels between the next lower and the next higher key. Returns the task's
 * level. levels_keep or levels_undo must follow. */
int levels_try(struct levels *levels, struct level_trial *trial, const struct task *task, int place,
               uint32_t key, int level, enum level_origin origin);

/* Tentatively removes `task` from its CPU. levels_keep or levels_undo must follow. */
void levels_try_release(struct levels *levels, struct level_trial *trial, const struct task *task);

/* Keeps the change. task: the task of levels_try, which the books have by now; NULL after
 * levels_try_release, whose task still exists. Writes update paragraphs for other tasks that must
 * move, in an order that never inverts the order of two tasks. */
void levels_keep(struct levels *levels, struct level_trial *trial, struct task *task,
                 struct paragraph_output *out);
void levels_undo(struct level_trial *trial);

/* Call this after levels_keep. Puts the levels in order on all CPUs where the restart left levels
 * out of order. */
void levels_settle(struct levels *levels, struct paragraph_output *out);

#endif
