/* The tasks of one CPU for an exact test, and arithmetic that both exact tests (demand.h,
 * response_time.h) use.
 *
 * All times are us, up to one hour. The cost of a test is counted in steps of about one division
 * each, and not in time, so that the same request has the same answer on every machine and under
 * every load. */
#ifndef RTF_TASK_SET_H
#define RTF_TASK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "units.h"

enum { SET_TASKS = 64, LEVEL_ABOVE = PRIORITY_MAX + 1, LEVEL_SERVER };

/* The outcome of a test. TOO_MUCH: the task does not fit. UNSTATED: the CPU cannot be
 * tested, because a task states no runtime or no period. TOO_MANY: the CPU cannot be tested,
 * because it has more than SET_TASKS tasks. TOO_COMPLEX: the steps are used up. */
enum outcome { FITS, TOO_MUCH, UNSTATED, TOO_MANY, TOO_COMPLEX };

/* The runtime C, period T and relative deadline D of a task, in us, with D <= T. All three are 0 if
 * the task does not state both a runtime and a period. owner: a number that stands for the user.
 * blocking: us; how long tasks of lower rank delay one job of the task, at most. */
struct timing {
    uint64_t runtime, period, deadline, owner, blocking;
};

struct set_task {
    struct timing timing;
    /* us: the time that the task can take from other users' tasks beyond its runtime; 0: not
     * counted */
    uint64_t overrun;
    int user; /* the number of the owner, from 1 on; set only if overruns count */
    /* a task with a larger level is more urgent. LEVEL_ABOVE: a task of another plugin; its time
     * counts, but its deadline is not tested. LEVEL_SERVER: the fair server on a CPU that gives
     * less than all of its time; no test tests the server's deadline */
    int level;
};

/* The least CPU time that a CPU gives. In any interval of t us, this is at least
 * alpha (t - delta): the bounded delay of Mok, Feng and Chen ("Resource Partition for Real-Time
 * Systems", RTAS 2001), and the lower linear bound that rtf-muse(1) measures. alpha is in
 * billionths and above 0, delta in us. */
struct supply {
    uint64_t alpha, delta;
};

#define WHOLE_CPU ((struct supply){ONE_CPU, 0})

/* The delays of a CPU's tasks that other tasks do not cause. blocking: us, see plugins.conf(5). */
struct conditions {
    uint64_t blocking;
    struct supply supply;
};

/* The tasks are task[1] to task[count], the more urgent tasks first. task[0] is reserved for the
 * fair server. */
struct task_set {
    size_t count;
    struct set_task task[1 + SET_TASKS];
};

/* Adds a task and returns its place. Requires count < SET_TASKS. */
struct set_task *set_add(struct task_set *set, const struct timing *timing, int level);

/* Compares the sum of C/T with a limit in billionths, exactly. The result is below 0, 0 or above 0,
 * as the sum is below, at or above the limit. */
int compare_utilization(const struct set_task *task, size_t count, uint64_t billionths);

bool is_whole(const struct supply *supply);

/* Returns the length in us of the shortest interval that surely gives this much CPU time:
 * delta + time / alpha, rounded up. 0 for no CPU time. A result of 2^63 or more is 2^63. */
uint64_t supplied_after(const struct supply *supply, uint64_t time);

/* True if the tasks may leave ordinary threads less than `runtime` (us) in some second. Then the
 * kernel's fair server gives ordinary threads this runtime. (The server defers its runtime until
 * the last moment at which the runtime still fits into the second.) */
bool fair_server_acts(const struct set_task *task, size_t count, uint64_t runtime,
                      const struct supply *supply);

/* Returns the fair server as a task above all priorities. A CPU that gives less than all of its
 * time cannot give the server's runtime by the server's deadline, so the deadline is not tested
 * there. */
struct set_task fair_server_task(uint64_t runtime, const struct supply *supply);

/* Subtracts `count` from the steps. False if no more than `count` steps were left. */
static inline bool spend(uint64_t *steps, uint64_t count)
{
    bool enough = *steps > count;
    *steps = enough ? *steps - count : 0;
    return enough;
}

#endif
