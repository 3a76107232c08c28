/* Admission by an exact test, which looks at all tasks of a CPU. The functions choose the CPU for a
 * task, find the largest runtime that fits, and decide whether this plugin's own tasks keep their
 * deadlines beside another plugin's task.
 *
 * A hostile task set can make such a test very long. So one test costs at most TEST_STEPS, and all
 * tests of one search (for a CPU, for the nearest runtime, or for another plugin's task) at most
 * SEARCH_STEPS. The search begins with the least loaded CPU (worst fit), and ends when its steps
 * are used up. On a machine with hundreds of busy CPUs, the search may not reach the CPUs with the
 * highest load. */
#ifndef RTF_EXACT_H
#define RTF_EXACT_H

#include "books.h"

enum { TEST_STEPS = 400000, SEARCH_STEPS = 5 * TEST_STEPS };

struct exact {
    struct books *books;
    const char *name;               /* "processor demand" */
    const char *word;               /* "admission=demand" */
    uint64_t limit;                 /* the limit of the sum of C/T, in billionths */
    uint64_t blocking, fair_server; /* us, see plugins.conf(5) */
    struct supply supply;           /* the word supply= */
    /* us: the time that a task can take beyond its runtime; see tick-overruns.h */
    uint64_t overrun;
    enum outcome (*test)(const struct set_task *task, size_t count, struct conditions conditions,
                         uint64_t *steps);

    /* These three functions belong to a plugin with fixed priorities; in another plugin they are
     * NULL. enter puts a task on a CPU tentatively, and returns the task's level. After enter,
     * level_of returns the level of another share of this CPU. undo removes the task again. */
    int (*enter)(const struct cpu *cpu, const struct task *old, const struct timing *timing);
    void (*undo)(void);
    int (*level_of)(const struct share *share);
};

/* The words of plugins.conf(5) for exact tests. */
#define EXACT_WORDS(exact)                                                    \
    {.key = "blocking", .time = &(exact).blocking, .most = TIME_MAX},         \
        {.key = "fair_server", .time = &(exact).fair_server, .most = 500000}, \
    {                                                                         \
        .key = "supply", .take = exact_take_supply                            \
    }

/* Takes the value of supply=. NULL: the value is taken; else a sentence with the allowed values. */
const char *exact_take_supply(const char *value);

#define TIME_UNSET UINT64_MAX

/* Fills in defaults. Returns NULL, or a sentence about a fault: the configuration has a word for
 * exact tests, but is_exact is false. */
const char *exact_setup(struct exact *exact, bool is_exact);

/* The reason why no CPU takes a task: the outcome of the test on one CPU. This CPU is the first one
 * with the largest value of enum outcome. If all outcomes are TOO_MUCH, it is the least loaded
 * CPU. */
struct exact_refusal {
    const struct cpu *cpu;
    enum outcome outcome;
};

/* Chooses the CPU for a task. old: the task, if the books have it; then its present CPU is chosen
 * if the task fits on this CPU. Otherwise the least loaded CPU is chosen on which the task fits.
 * NULL: the task fits on no CPU. */
const struct cpu *exact_choose(const struct exact *exact, const struct task *old,
                               const struct timing *timing, struct exact_refusal *why);

/* Returns the largest runtime up to `most` (us) that fits on the CPU; timing->runtime is known to
 * fit. */
uint64_t exact_most(const struct exact *exact, const struct cpu *cpu, const struct task *old,
                    const struct timing *timing, uint64_t most);

/* Returns the largest runtime up to `ceiling` (us) that would be granted now. 0: no runtime, or the
 * search takes too long. */
uint64_t exact_nearest(const struct exact *exact, const struct task *old,
                       const struct timing *timing, uint64_t ceiling);

/* Writes answer= and reason= for a task that fits on no CPU. nearest: from exact_nearest, or 0. */
void exact_refuse(const struct exact *exact, const struct exact_refusal *why,
                  const struct timing *timing, uint64_t nearest, struct paragraph_output *out);

/* True if all tasks of this plugin keep their deadlines beside another plugin's task; else the
 * refusal is written to out. */
bool exact_judge(const struct exact *exact, const struct request *request,
                 struct paragraph_output *out);

#endif
