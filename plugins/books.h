/* The books of a plugin record all tasks on its CPUs: the plugin's own tasks, and other plugins'
 * tasks on the same CPUs. A task (a thread with a reservation) is found by its number in O(1). Each
 * task has a share (cpus.h) of one CPU. The place of a task is the index of this CPU among the
 * plugin's CPUs. */
#ifndef RTF_BOOKS_H
#define RTF_BOOKS_H

#define uthash_fatal(message) plugin_out_of_memory()

#include <sys/queue.h>
#include <uthash.h>

#include "cpus.h"
#include "plugin.h"

struct level_key;

struct task {
    uint64_t id;
    struct share share;
    LIST_ENTRY(task) same_key; /* used by levels.c; unused in a plugin without priorities */
    struct level_key *key;
    UT_hash_handle hh;
};

struct foreign;

struct books {
    struct cpus cpus;
    struct task *tasks;
    struct foreign *foreign;
    uint64_t (*log)(uint32_t weight); /* computes share.log; NULL: no test needs share.log */
    /* true: the weight of another plugin's task is C/T, not C/min(T, D) */
    bool by_period;
    /* true: the books also record tasks without runtime or period */
    bool keep_unstated;
};

/* Returns the task with this number; NULL: the books have no such task. */
struct task *books_find(const struct books *books, uint64_t id);

/* Records a task on the CPU at `place`. old: the task, if the books have it already; then the task
 * first leaves its present CPU. old = NULL: a new task. */
struct task *books_enter(struct books *books, struct task *old, uint64_t id, int place,
                         uint32_t weight, struct timing timing);
void books_strike(struct books *books, struct task *task);

/* Returns the task's share of its CPU, so that the caller can compute sums without this task.
 * Returns NULL if task is NULL. */
const struct share *books_share(const struct task *task);

/* Handles the request op=load: a task of another plugin has begun, changed or ended. counts =
 * false: the task takes no time from this plugin's tasks. A task has no weight if it has no
 * runtime, or neither a period nor a deadline. */
void books_load(struct books *books, const struct request *request, bool counts);

/* Returns the share that a task, of this or another plugin, has of the CPU at `place`; NULL: the
 * task has no share of this CPU. */
const struct share *books_share_on(const struct books *books, uint64_t id, int place);

/* True if the CPU has a task of this plugin other than task `but`. */
bool books_has_own(const struct books *books, const struct cpu *cpu, uint64_t but);

/* Returns the timing of the requested task, with this runtime. The deadline is at most the period.
 * If there is no runtime or no period, only the owner is set. */
struct timing request_timing(const struct request *request, uint64_t runtime);

/* Returns the utilization charged for a runtime: at most one CPU, because a thread never uses
 * more. */
uint32_t charge(uint64_t runtime, uint64_t window);

#endif
