/* The promises on a plugin's CPUs: to the plugin's own tasks, and to other plugins' tasks on the
 * same CPUs. A task is found by its number in O(1). */
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
    uint64_t (*log)(uint32_t weight); /* computes share.log; NULL: no test needs it */
    bool by_period;                   /* other plugins' tasks weigh C/T instead of C/min(T, D) */
    bool keep_unstated;               /* keep other plugins' tasks without runtime or period, too */
};

/* NULL: unknown task. */
struct task *books_find(const struct books *books, uint64_t id);

/* Puts a task on a CPU. `old` is the task if it is known, else NULL; a known task first leaves its
 * CPU. */
struct task *books_enter(struct books *books, struct task *old, uint64_t id, int place,
                         uint32_t weight, struct timing timing);
void books_strike(struct books *books, struct task *task);

/* The task's share of its CPU, to compute sums without this task; NULL for no task. */
const struct share *books_share(const struct task *task);

/* op=load: another plugin's task came, changed or ended, or no longer counts (counts = false). A
 * task without a runtime, or without a period or deadline to divide by, has no weight. */
void books_load(struct books *books, const struct request *request, bool counts);

/* The share of the task (another plugin's, or an own one) on the CPU at `place`; NULL: none. */
const struct share *books_share_on(const struct books *books, uint64_t id, int place);

/* True if the CPU has a task of this plugin other than task `but`. */
bool books_has_own(const struct books *books, const struct cpu *cpu, uint64_t but);

/* The task's timing with this runtime; the deadline is at most the period. Only the owner without
 * runtime or period. */
struct timing request_timing(const struct request *request, uint64_t runtime);

/* The utilization charged for a runtime, at most one CPU, because a thread never uses more. */
uint32_t charge(uint64_t runtime, uint64_t window);

#endif
