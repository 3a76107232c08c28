#include "occupancy.h"

#include <stdbool.h>
#include <stdlib.h>

/* LAST: how many stays of threads on each CPU are kept. Only the last LAST stays of a longer wait
 * count. */
enum { LAST = 64, WAIT_KINDS = WAIT_LOST + 1 };

/* A stay: a thread had the CPU from the time `from` until the beginning of the next stay. */
struct stay {
    int64_t from;
    pid_t thread;
    int16_t priority;
    bool is_lost; /* it is not known which thread had the CPU */
};

struct cpu_stays {
    struct stay last[LAST];
    unsigned count; /* of all stays; the stay number n is last[n % LAST] */
};

struct occupancy {
    unsigned cpus;
    struct cpu_stays of[];
};

struct occupancy *occupancy_new(unsigned cpus)
{
    struct occupancy *occupancy = calloc(1, sizeof *occupancy + cpus * sizeof *occupancy->of);
    if (occupancy != NULL)
        occupancy->cpus = cpus;
    return occupancy;
}

void occupancy_free(struct occupancy *occupancy)
{
    free(occupancy);
}

void occupancy_take(struct occupancy *occupancy, const struct record *record)
{
    if (record->cpu >= occupancy->cpus)
        return;
    struct cpu_stays *of = &occupancy->of[record->cpu];
    struct stay *present = &of->last[(of->count + LAST - 1) % LAST];
    if (of->count > 0 && present->thread != record->thread)
        present->is_lost = true;
    of->last[of->count++ % LAST] = (struct stay){.from = record->time,
                                                 .thread = record->next,
                                                 .priority = record->next_priority};
}

static enum wait_kind kind_of(const struct stay *stay, const struct record *record)
{
    if (stay->is_lost || stay->thread == record->next)
        return WAIT_LOST;
    if (stay->thread == 0)
        return WAIT_NONE;
    return stay->priority <= record->next_priority ? WAIT_OTHERS : WAIT_LOWER;
}

/* True if an earlier stay, from number `first` on, is of the same thread as the stay number
 * `last`. */
static bool is_counted(const struct cpu_stays *of, unsigned first, unsigned last)
{
    for (unsigned i = first; i < last; i++)
        if (of->last[i % LAST].thread == of->last[last % LAST].thread)
            return true;
    return false;
}

struct occupancy_wait occupancy_explain(const struct occupancy *occupancy,
                                        const struct record *record, int64_t since)
{
    struct occupancy_wait wait = {WAIT_LOST, 0};
    int64_t times[WAIT_KINDS] = {0};
    if (record->cpu >= occupancy->cpus)
        return wait;
    const struct cpu_stays *of = &occupancy->of[record->cpu];
    const unsigned end = of->count - 1; /* the stay that begins with this record */
    unsigned first = end;
    while (first > 0 && end - first < LAST - 1 && of->last[first % LAST].from > since)
        first--;
    if (first == 0 && of->last[0].from > since && of->count <= LAST)
        /* the part of the wait before the first record of the CPU */
        times[WAIT_LOST] = of->last[0].from - since;
    for (unsigned i = first; i < end; i++) {
        const struct stay *stay = &of->last[i % LAST];
        const enum wait_kind kind = kind_of(stay, record);
        const int64_t from = stay->from > since ? stay->from : since;
        times[kind] += of->last[(i + 1) % LAST].from - from;
        wait.others += kind == WAIT_OTHERS && !is_counted(of, first, i);
    }
    for (enum wait_kind kind = WAIT_OTHERS; kind < WAIT_LOST; kind++)
        if (times[kind] > times[wait.kind])
            wait.kind = kind;
    if (wait.kind != WAIT_OTHERS)
        wait.others = 0;
    return wait;
}
