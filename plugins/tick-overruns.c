#include "tick-overruns.h"

#include <stdlib.h>

#include "plugin.h"

/* One task. deadline: 0 for a task of another plugin, and for a task without a period. */
struct entry {
    uint64_t owner, deadline;
};

static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    return a->deadline == b->deadline ? 0 : a->deadline < b->deadline ? -1 : 1;
}

/* Collects the tasks of the CPU, without the share `gone`, and the task with the timing `asked`. A
 * task of another plugin gets no deadline, because the other plugin tests the deadline itself; here
 * such a task only takes time. */
static size_t collect(const struct cpu *cpu, const struct share *gone, const struct timing *asked,
                      struct entry *entry)
{
    size_t count = 0;
    const struct share *share;
    entry[count++] = (struct entry){asked->owner, asked->deadline};
    LIST_FOREACH (share, &cpu->shares, beside)
        if (share != gone)
            entry[count++] =
                (struct entry){share->timing.owner, share->foreign ? 0 : share->timing.deadline};
    return count;
}

static uint64_t part_of(uint64_t others, uint64_t overrun, uint64_t window)
{
    unsigned __int128 taken = (unsigned __int128)others * least(overrun, window) * ONE_CPU;
    return (uint64_t)((taken + window - 1) / window);
}

struct overruns overruns_on(const struct cpu *cpu, const struct share *gone,
                            const struct timing *asked, uint64_t overrun)
{
    struct overruns worst = {0};
    struct entry *entry = plugin_allocate(cpu->sums.counted + 1, sizeof *entry);
    const size_t count = collect(cpu, gone, asked, entry);
    qsort(entry, count, sizeof *entry, compare);
    for (size_t first = 0, next; first < count; first = next) {
        uint64_t shortest = 0;
        for (next = first; next < count && entry[next].owner == entry[first].owner; next++)
            if (shortest == 0)
                shortest = entry[next].deadline;
        const uint64_t others = count - (next - first);
        const uint64_t part = shortest == 0 ? 0 : part_of(others, overrun, shortest);
        if (part > worst.part)
            worst = (struct overruns){part, others, shortest};
    }
    free(entry);
    return worst;
}

void overruns_enter(struct task_set *set, uint64_t overrun)
{
    int users = 0;
    for (size_t i = 1; i <= set->count; i++) {
        struct set_task *task = &set->task[i];
        size_t known = 1;
        while (set->task[known].timing.owner != task->timing.owner)
            known++;
        task->user = known < i ? set->task[known].user : ++users;
        task->overrun = overrun;
    }
}
