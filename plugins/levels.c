#include "levels.h"

#include <stdlib.h>

static int key_compare(const struct level_key *a, const struct level_key *b)
{
    return a->key < b->key ? -1 : a->key > b->key;
}

RB_PROTOTYPE(key_tree, level_key, by_key, key_compare)
RB_GENERATE(key_tree, level_key, by_key, key_compare)

void levels_init(struct levels *levels, int low, int high, int count)
{
    *levels = (struct levels){.low = low, .high = high, .count = count, .restoring = true};
    levels->ladder = plugin_allocate((size_t)count, sizeof *levels->ladder);
    for (int i = 0; i < count; i++)
        STAILQ_INIT(&levels->ladder[i].moved);
}

static uint32_t level_count(const struct levels *levels)
{
    return (uint32_t)(levels->high - levels->low + 1);
}

/* ---- Keys and their levels ---- */

static void occupy(struct ladder *ladder, int level)
{
    ladder->used += ladder->at[level]++ == 0;
}

static void vacate(struct ladder *ladder, int level)
{
    ladder->used -= --ladder->at[level] == 0;
}

static void insert(struct ladder *ladder, struct level_key *key)
{
    RB_INSERT(key_tree, &ladder->keys, key);
    occupy(ladder, key->level);
    ladder->distinct++;
}

static void withdraw(struct ladder *ladder, struct level_key *key)
{
    RB_REMOVE(key_tree, &ladder->keys, key);
    vacate(ladder, key->level);
    ladder->distinct--;
}

static struct level_key *find(const struct ladder *ladder, uint32_t key)
{
    struct level_key wanted = {.key = key};
    return RB_FIND(key_tree, (struct key_tree *)&ladder->keys, &wanted);
}

static void set_level(struct ladder *ladder, struct level_key *key, int level)
{
    vacate(ladder, key->level);
    key->level = (uint8_t)level;
    occupy(ladder, level);
}

static void move(struct ladder *ladder, struct level_key *key, int step)
{
    if (key->was == 0) {
        key->was = key->level;
        STAILQ_INSERT_TAIL(&ladder->moved, key, next_moved);
    }
    set_level(ladder, key, key->level + step);
}

/* last_below returns the highest key below a level, first_above the lowest key above a level.
 * Levels have the same order as keys. */
static struct level_key *last_below(const struct ladder *ladder, int level)
{
    struct level_key *found = NULL;
    for (struct level_key *key = RB_ROOT(&ladder->keys); key != NULL;) {
        bool below = key->level < level;
        found = below ? key : found;
        key = below ? RB_RIGHT(key, by_key) : RB_LEFT(key, by_key);
    }
    return found;
}

static struct level_key *first_above(const struct ladder *ladder, int level)
{
    struct level_key *found = NULL;
    for (struct level_key *key = RB_ROOT(&ladder->keys); key != NULL;) {
        bool above = key->level > level;
        found = above ? key : found;
        key = above ? RB_LEFT(key, by_key) : RB_RIGHT(key, by_key);
    }
    return found;
}

/* ---- The level of a new key ---- */

/* The level for a new key. step: the direction in which the keys on this level have to move: -1
 * down, 1 up, 0 not at all. */
struct slot {
    int level, step;
};

/* Returns the free level that is nearest to `level` in the direction `step`; 0: no level is free.
 * *keys: the number of keys on the levels before the free level. */
static int free_from(const struct levels *levels, const struct ladder *ladder, int level, int step,
                     uint32_t *keys)
{
    *keys = 0;
    for (; level >= levels->low && level <= levels->high; level += step) {
        if (ladder->at[level] == 0)
            return level;
        *keys += ladder->at[level];
    }
    return 0;
}

/* Finds a level for a new key if no level is free between `below` and `above`. These are the levels
 * of the next lower and the next higher key; either may be just outside of the range. The lower
 * keys move down, or the higher keys move up, whichever are fewer. If there is no free level, the
 * new key shares the level with fewer keys. */
static struct slot squeeze_in(const struct levels *levels, const struct ladder *ladder, int below,
                              int above, int level, enum level_origin origin)
{
    uint32_t keys_down, keys_up;
    bool down = free_from(levels, ladder, below, -1, &keys_down) != 0;
    bool up = free_from(levels, ladder, above, 1, &keys_up) != 0;
    bool sharing = !down && !up;
    if (sharing) {
        down = below >= levels->low;
        up = above <= levels->high;
        keys_down = ladder->at[down ? below : 0];
        keys_up = ladder->at[up ? above : 0];
    }
    if (down && up) {
        bool as_offered = origin == LEVEL_OFFERED && (level == below || level == above);
        if (as_offered || keys_down == keys_up)
            down = level != above;
        else
            down = keys_down < keys_up;
    }
    return (struct slot){.level = down ? below : above, .step = sharing ? 0 : down ? -1 : 1};
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

static struct slot find_slot(const struct levels *levels, const struct ladder *ladder, uint32_t key,
                             int level, enum level_origin origin)
{
    struct level_key wanted = {.key = key};
    struct key_tree *keys = (struct key_tree *)&ladder->keys;
    const struct level_key *next = RB_NFIND(key_tree, keys, &wanted);
    const struct level_key *previous =
        next == NULL ? RB_MAX(key_tree, keys) : RB_PREV(key_tree, keys, (struct level_key *)next);
    int below = previous == NULL ? levels->low - 1 : previous->level;
    int above = next == NULL ? levels->high + 1 : next->level;
    bool in_range = level >= levels->low && level <= levels->high;
    if (origin == LEVEL_RESTORED && in_range && level >= below && level <= above)
        return (struct slot){.level = level};
    if (below == above)
        return (struct slot){.level = below};
    if (above - below == 1)
        return squeeze_in(levels, ladder, below, above, level, origin);
    if (level == 0)
        return (struct slot){.level = below + (above - below) / 2};
    return (struct slot){.level = clamp(level, below + 1, above - 1)};
}

/* Moves the keys between the slot and the nearest free level by one level. The key next to the free
 * level moves first, so that no step inverts the order of two threads. */
static void make_way(const struct levels *levels, struct ladder *ladder, struct slot slot,
                     uint32_t key)
{
    uint32_t keys;
    if (slot.step == 0)
        return;
    int open = free_from(levels, ladder, slot.level, slot.step, &keys);
    struct level_key *at = slot.step > 0 ? last_below(ladder, open) : first_above(ladder, open);
    while (at != NULL && (slot.step > 0 ? at->key > key : at->key < key)) {
        struct level_key *inner = slot.step > 0 ? RB_PREV(key_tree, &ladder->keys, at)
                                                : RB_NEXT(key_tree, &ladder->keys, at);
        move(ladder, at, slot.step);
        at = inner;
    }
}

/* ---- Separating keys that share a level ---- */

/* Finds the level with several keys and the free level that are nearest to each other. Every level
 * between these two has one key. */
static void nearest_pair(const struct levels *levels, const struct ladder *ladder, int *shared,
                         int *open)
{
    int last_shared = 0, last_open = 0, best = PRIORITY_MAX + 1;
    for (int level = levels->low; level <= levels->high; level++) {
        if (ladder->at[level] == 1)
            continue;
        if (ladder->at[level] == 0)
            last_open = level;
        else
            last_shared = level;
        int distance = abs(last_shared - last_open);
        if (last_shared != 0 && last_open != 0 && distance < best) {
            best = distance;
            *shared = last_shared;
            *open = last_open;
        }
    }
}

/* Moves one key of the shared level by one level towards the free level, and also each key between
 * the two levels. */
static void take_apart(struct ladder *ladder, int shared, int open)
{
    int step = open > shared ? 1 : -1;
    struct level_key *at = step > 0 ? last_below(ladder, open) : first_above(ladder, open);
    for (;;) {
        bool last = at->level == shared;
        struct level_key *inner =
            step > 0 ? RB_PREV(key_tree, &ladder->keys, at) : RB_NEXT(key_tree, &ladder->keys, at);
        move(ladder, at, step);
        if (last)
            return;
        at = inner;
    }
}

static void settle(const struct levels *levels, struct ladder *ladder)
{
    while (ladder->used < ladder->distinct && ladder->used < level_count(levels)) {
        int shared = 0, open = 0;
        nearest_pair(levels, ladder, &shared, &open);
        take_apart(ladder, shared, open);
    }
}

/* ---- Trials ---- */

static bool is_alone(const struct task *task)
{
    return LIST_FIRST(&task->key->tasks) == task && LIST_NEXT(task, same_key) == NULL;
}

bool levels_have_room(const struct levels *levels, int place, uint32_t key,
                      const struct task *leaving)
{
    const struct ladder *ladder = &levels->ladder[place];
    bool leaves = leaving != NULL && leaving->share.place == place && is_alone(leaving);
    return ladder->distinct - leaves < level_count(levels) || find(ladder, key) != NULL;
}

/* Begins a trial (levels.h) in which a task leaves its key; stays = true: the task keeps its key.
 * The task stays in the list of its key until levels_keep. A key that loses its last task leaves
 * the ladder. */
static void leave(const struct levels *levels, struct level_trial *trial, bool stays)
{
    trial->from = &levels->ladder[trial->task->share.place];
    trial->old = trial->task->key;
    trial->vacated = !stays && is_alone(trial->task);
    if (trial->vacated)
        withdraw(trial->from, trial->old);
}

static void join(const struct levels *levels, struct level_trial *trial, uint32_t key, int level,
                 enum level_origin origin)
{
    trial->new = find(trial->to, key);
    if (trial->new != NULL)
        return;
    struct slot slot = find_slot(levels, trial->to, key, level, origin);
    make_way(levels, trial->to, slot, key);
    trial->fresh = true;
    trial->new = plugin_allocate(1, sizeof *trial->new);
    trial->new->key = key;
    trial->new->level = (uint8_t)slot.level;
    insert(trial->to, trial->new);
}

int levels_try(struct levels *levels, struct level_trial *trial, const struct task *task, int place,
               uint32_t key, int level, enum level_origin origin)
{
    bool stays = task != NULL && task->share.place == place && task->key->key == key;
    *trial = (struct level_trial){.task = task, .to = &levels->ladder[place]};
    if (task != NULL)
        leave(levels, trial, stays);
    if (stays)
        trial->new = trial->old;
    else
        join(levels, trial, key, level, origin);
    if (origin != LEVEL_RESTORED) {
        /* settle() comes after join(), so that the new key may use the level that the old key has
         * left. */
        settle(levels, trial->to);
        if (trial->from != NULL)
            settle(levels, trial->from);
    }
    return trial->new->level;
}

void levels_try_release(struct levels *levels, struct level_trial *trial, const struct task *task)
{
    *trial = (struct level_trial){.task = task};
    leave(levels, trial, false);
    settle(levels, trial->from);
}

static void write_updates(struct ladder *ladder, const struct task *except,
                          struct paragraph_output *out)
{
    struct level_key *key;
    STAILQ_FOREACH (key, &ladder->moved, next_moved) {
        const struct task *task;
        if (key->level != key->was)
            LIST_FOREACH (task, &key->tasks, same_key) {
                if (task == except)
                    continue;
                paragraph_add_number(out, "update", task->id);
                paragraph_add_number(out, "priority", key->level);
                paragraph_close(out);
            }
        key->was = 0;
    }
    STAILQ_INIT(&ladder->moved);
}

void levels_keep(struct levels *levels, struct level_trial *trial, struct task *task,
                 struct paragraph_output *out)
{
    const struct task *self = task != NULL ? task : trial->task;
    if (trial->old != NULL && trial->old != trial->new)
        LIST_REMOVE(self, same_key);
    if (trial->new != NULL && trial->old != trial->new) {
        LIST_INSERT_HEAD(&trial->new->tasks, task, same_key);
        task->key = trial->new;
    }
    if (trial->vacated)
        free(trial->old);
    if (trial->from != NULL)
        write_updates(trial->from, self, out);
    if (trial->to != NULL)
        write_updates(trial->to, self, out);
    if (levels->restoring)
        levels->unsettled = true;
}

static void move_back(struct ladder *ladder)
{
    struct level_key *key;
    STAILQ_FOREACH (key, &ladder->moved, next_moved) {
        set_level(ladder, key, key->was);
        key->was = 0;
    }
    STAILQ_INIT(&ladder->moved);
}

void levels_undo(struct level_trial *trial)
{
    if (trial->from != NULL) {
        move_back(trial->from);
        if (trial->vacated)
            insert(trial->from, trial->old);
    }
    if (trial->to != NULL) {
        move_back(trial->to);
        if (trial->fresh) {
            withdraw(trial->to, trial->new);
            free(trial->new);
        }
    }
}

void levels_settle(struct levels *levels, struct paragraph_output *out)
{
    for (int i = 0; levels->unsettled && !levels->restoring && i < levels->count; i++) {
        settle(levels, &levels->ladder[i]);
        write_updates(&levels->ladder[i], NULL, out);
    }
    levels->unsettled = levels->unsettled && levels->restoring;
}
