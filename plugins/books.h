/* Who has been promised what: the plugin's own tasks and other plugins' tasks on the same CPUs, each found
 * by its number without a search. */
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
    LIST_ENTRY(task) same_key; /* levels.h; unused by a plugin without priorities */
    struct level_key *key;
    UT_hash_handle hh;
};

struct foreign;

struct books {
    struct cpus cpus;
    struct task *tasks;
    struct foreign *foreign;
    uint64_t (*log)(uint32_t weight); /* fills share.log; NULL where no test reads it */
    bool by_period;                   /* others' tasks weigh C/T, not C/min(T, D) */
    bool keep_unstated;               /* others' tasks that state no runtime or no period are kept, too */
};

/* NULL when unknown. */
struct task *books_find(const struct books *books, uint64_t id);

/* Puts a task on a CPU; a known one (`old`, else NULL) leaves its CPU first. */
struct task *books_enter(struct books *books, struct task *old, uint64_t id, int place, uint32_t weight,
                         struct timing timing);
void books_strike(struct books *books, struct task *task);

/* The share of the task on its CPU, for "as if it were gone"; NULL for no task. */
const struct share *books_share(const struct task *task);

/* op=load: another plugin's task came, changed or went, or does not count any more. One that declares no runtime
 * or nothing to relate it to cannot be summed up. */
void books_load(struct books *books, const struct request *request, bool counts);

/* What the task of this number, another plugin's or one of its own, takes of the CPU at `place`; NULL: nothing. */
const struct share *books_share_on(const struct books *books, uint64_t id, int place);

/* Whether a task of the plugin's own is on this CPU, but for the one of this number. */
bool books_has_own(const struct books *books, const struct cpu *cpu, uint64_t but);

/* With this runtime; the deadline at most the period. All 0 without runtime or period. */
struct timing request_timing(const struct request *request, uint64_t runtime);

/* What is charged for a runtime: no thread takes more than a whole CPU. */
uint32_t charge(uint64_t runtime, uint64_t window);

#endif
