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
    /* the level before the tentative change; 0: the tentative change has not moved the key */
    uint8_t was;
};

RB_HEAD(key_tree, level_key);

/* The keys of one CPU, in the order of rising urgency. */
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
    struct ladder *ladder; /* one ladder for each CPU; the index is the CPU's place (books.h) */

    /* After a restart the broker sends every task with `schedule`, in any order. Keys that share a
     * level in their plans must not be separated before the broker has sent all tasks. The first
     * request other than `schedule` shows that it has, and the first change after this request puts
     * all levels in order. */
    bool restoring, unsettled;
};

enum level_origin {
    LEVEL_PREFERRED, /* take the level if it is free and does not break the order */
    /* this plugin has made the plan from its present keys: other keys move as the plan assumed */
    LEVEL_OFFERED,
    /* the plan is from before a restart: take its level unless the level breaks the order */
    LEVEL_RESTORED,
};

/* A trial: a tentative change, which the caller then keeps or undoes. */
struct level_trial {
    const struct task *task; /* NULL: a new task */
    struct ladder *from, *to;
    struct level_key *old, *new;
    bool vacated; /* true: the key `old` has lost its last task */
    bool fresh;   /* true: no other task has the key `new` */
};

void levels_init(struct levels *levels, int low, int high, int count);

/* True if `key` has a level, or a level would be free for it, after the task `leaving` has left
 * (NULL: no task leaves). */
bool levels_have_room(const struct levels *levels, int place, uint32_t key,
                      const struct task *leaving);

/* Tentatively puts `task` (NULL: a new task) with this key on the CPU at `place`. level: the
 * preferred level; 0: the middle of the free levels between the next lower and the next higher key.
 * Returns the task's level. levels_keep or levels_undo must follow. */
int levels_try(struct levels *levels, struct level_trial *trial, const struct task *task, int place,
               uint32_t key, int level, enum level_origin origin);

/* Tentatively removes `task` from its CPU. levels_keep or levels_undo must follow. */
void levels_try_release(struct levels *levels, struct level_trial *trial, const struct task *task);

/* Keeps the tentative change. task: the task of levels_try, which the caller has entered into the
 * books; NULL after levels_try_release. Call this before the released task is freed. Writes an
 * update paragraph for each other task that has to move. The updates are in such an order that no
 * step inverts the order of two tasks. */
void levels_keep(struct levels *levels, struct level_trial *trial, struct task *task,
                 struct paragraph_output *out);
void levels_undo(struct level_trial *trial);

/* Call this after levels_keep. Separates the keys that share a level since a restart of the plugin,
 * on all CPUs. */
void levels_settle(struct levels *levels, struct paragraph_output *out);

#endif
