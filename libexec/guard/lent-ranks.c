#include "lent-ranks.h"

/* Indexed by the kernel's priority + 1: the number of guarded threads of this rank, and their
 * shortest runtime and longest period, ns. */
static struct rank {
    int count;
    int64_t shortest, longest;
} ranks[RT_PRIORITIES + 1];

int rank_granted(const struct guarded *guarded)
{
    return guarded->granted.policy == POLICY_DEADLINE
               ? -1
               : RT_PRIORITIES - 1 - guarded->granted.priority;
}

static bool is_real_time(int priority)
{
    return priority >= -1 && priority < RT_PRIORITIES;
}

/* Returns the highest rank that can have been granted to a thread that now has this priority: its
 * owner may have lowered a FIFO or RR priority. */
static int highest(int priority)
{
    return priority < 0 ? -1 : 0;
}

bool rank_may_be_lent(const struct guarded *guarded, int priority)
{
    const int granted = rank_granted(guarded);
    return is_real_time(priority) && granted >= highest(priority) && granted <= priority &&
           (guarded->group != NULL || rank_is(guarded->tid, priority));
}

void ranks_note(const struct guarded *guarded, bool on)
{
    struct rank *rank = &ranks[rank_granted(guarded) + 1];
    if (on && (rank->count == 0 || guarded->window.runtime < rank->shortest))
        rank->shortest = guarded->window.runtime;
    if (on && (rank->count == 0 || guarded->window.period > rank->longest))
        rank->longest = guarded->window.period;
    rank->count += on ? 1 : -1;
}

int64_t rank_shortest_runtime(int priority)
{
    int64_t shortest = 0;
    for (int one = highest(priority); is_real_time(priority) && one <= priority; one++) {
        const struct rank *rank = &ranks[one + 1];
        if (rank->count > 0 && (shortest == 0 || rank->shortest < shortest))
            shortest = rank->shortest;
    }
    return shortest;
}

bool ranks_have_deadline(void)
{
    return ranks[0].count > 0;
}

/* ---- boosts with an unknown lender ---- */

static struct unknown {
    int64_t began, time; /* ns */
} of_deadline, of_fixed;

static struct unknown *unknown_of(int priority)
{
    return priority < 0 ? &of_deadline : &of_fixed;
}

static int64_t longest_period(int priority)
{
    int64_t longest = 0;
    const int last = priority < 0 ? -1 : RT_PRIORITIES - 1;
    for (int one = highest(priority); one <= last; one++)
        if (ranks[one + 1].count > 0 && ranks[one + 1].longest > longest)
            longest = ranks[one + 1].longest;
    return longest;
}

void rank_note_unknown(int priority, int64_t time, int64_t now)
{
    struct unknown *unknown = unknown_of(priority);
    if (now >= unknown->began + longest_period(priority))
        *unknown = (struct unknown){.began = now};
    if (time > 0)
        unknown->time += time;
}

int64_t rank_unknown_time(int priority, int64_t now)
{
    const struct unknown *unknown = unknown_of(priority);
    return now < unknown->began + longest_period(priority) ? unknown->time : 0;
}

void rank_forget_unknown(int priority)
{
    unknown_of(priority)->time = 0;
}
