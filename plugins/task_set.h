/* The tasks of one CPU as an exact test sees them, and the arithmetic that both exact tests need.
 *
 * All times are us up to an hour. What a test costs is counted in steps, each about one division, and not in
 * time: the same question has the same answer on every machine and under every load. */
#ifndef RTF_TASK_SET_H
#define RTF_TASK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "units.h"

enum { SET_TASKS = 64, LEVEL_ABOVE = PRIORITY_MAX + 1 };

/* TOO_MANY, UNSTATED: the CPU has tasks that the test does not do for, more than SET_TASKS or without runtime. */
enum outcome { FITS, TOO_MUCH, UNSTATED, TOO_MANY, TOO_COMPLEX };

/* C, T and D of a task that declares a runtime and a period; D <= T. All 0 for one that does not. */
struct timing {
    uint64_t runtime, period, deadline;
};

struct set_task {
    struct timing timing;
    int level; /* more is more urgent; LEVEL_ABOVE: another plugin's, to be counted but not tested */
};

/* task[1] to task[count], the more urgent ones first; task[0] is kept for the fair server. */
struct task_set {
    size_t count;
    struct set_task task[1 + SET_TASKS];
};

/* Returns its place. count < SET_TASKS. */
struct set_task *set_add(struct task_set *set, const struct timing *timing, int level);

/* The sum of C/T against a limit in billionths, exactly: below 0, 0 or above 0. */
int compare_utilization(const struct set_task *task, size_t count, uint64_t billionths);

/* Whether ordinary threads may be left with less than `runtime` in some second, so that the kernel's server
 * for them, which waits until its last chance, runs at all. */
bool fair_server_acts(const struct set_task *task, size_t count, uint64_t runtime);

/* What the server is to the tasks then: one of them, above all priorities. */
struct set_task fair_server_task(uint64_t runtime);

/* False when no more than this is left. */
static inline bool spend(uint64_t *steps, uint64_t count)
{
    bool enough = *steps > count;
    *steps = enough ? *steps - count : 0;
    return enough;
}

#endif
