/* Admission by an exact test, which looks at all tasks of a CPU: which CPU takes a task, how much runtime it could
 * have, and whether the CPUs bear another plugin's task.
 *
 * Such a test can take very long for hostile task sets, so what it costs is limited: one test to TEST_STEPS, the
 * tests of one search (for a CPU, for the nearest runtime, for what a load leaves) to SEARCH_STEPS together. CPUs are
 * tried in the order of worst fit until the search has used up its steps: on machines with hundreds of busy CPUs
 * those with the highest load may not be looked at. */
#ifndef RTF_EXACT_H
#define RTF_EXACT_H

#include "books.h"

enum { TEST_STEPS = 50000, SEARCH_STEPS = 10 * TEST_STEPS };

struct exact {
    struct books *books;
    const char *name;               /* "processor demand" */
    const char *word;               /* "admission=demand" */
    uint64_t limit;                 /* of the sum of C/T, in billionths */
    uint64_t blocking, fair_server; /* us, see plugins.conf(5) */
    enum outcome (*test)(const struct set_task *task, size_t count, uint64_t blocking, uint64_t *steps);

    /* For fixed priorities, else NULL: enter tries a task on a CPU and returns its level, undo takes it back;
     * level_of tells meanwhile what level another share of this CPU has. */
    int (*enter)(const struct cpu *cpu, const struct task *old, const struct timing *timing);
    void (*undo)(void);
    int (*level_of)(const struct share *share);
};

/* The words that belong to an exact test only. */
#define EXACT_WORDS(exact)                                                   \
    {.key = "blocking", .time = &(exact).blocking, .most = TIME_MAX},        \
    {.key = "fair_server", .time = &(exact).fair_server, .most = 500000}

#define TIME_UNSET UINT64_MAX

/* Fills in what was not given. NULL, or that a word was given although the plugin's test is not exact. */
const char *exact_setup(struct exact *exact, bool is_exact);

/* Why no CPU takes a task: of the CPUs that were tested the first for which the test could not be made, or else the
 * first one. */
struct exact_refusal {
    const struct cpu *cpu;
    enum outcome outcome;
};

/* The CPU for a task: the one that it has if it is known (`old`), else the least loaded of those that take it.
 * NULL: none. */
const struct cpu *exact_choose(const struct exact *exact, const struct task *old, const struct timing *timing,
                               struct exact_refusal *why);

/* The largest runtime up to `most` with which the CPU takes a task that it takes with timing->runtime. */
uint64_t exact_most(const struct exact *exact, const struct cpu *cpu, const struct task *old,
                    const struct timing *timing, uint64_t most);

/* The largest runtime up to `ceiling` that would be granted now. 0: none, or it takes too long to find. */
uint64_t exact_nearest(const struct exact *exact, const struct task *old, const struct timing *timing,
                       uint64_t ceiling);

/* answer= and reason= for a task that no CPU takes. nearest: as above, or 0. */
void exact_refuse(const struct exact *exact, const struct exact_refusal *why, const struct timing *timing,
                  uint64_t nearest, struct paragraph_output *out);

/* Whether all own tasks keep their deadlines beside another plugin's task; else answers. */
bool exact_judge(const struct exact *exact, const struct request *request, struct paragraph_output *out);

#endif
