#include "rhythm-candidates.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOKED_AT = 2048, /* number of bursts; more bursts make no better guess */
    NEXT = 24,        /* number of bursts after each burst to which the distance is taken */
    STEPS = 32,       /* number of classes of distances for each power of two */
    CLASSES = 40 * STEPS
};

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Returns the class of a distance. A class is some 3 percent wide. */
static size_t class_of(int64_t distance)
{
    unsigned power = 0;
    while (distance >> power >= 2 * (int64_t)STEPS)
        power++;
    const size_t class = (size_t)power * STEPS + (size_t)(distance >> power);
    return class < CLASSES ? class : CLASSES - 1;
}

struct guesses {
    const struct burst *list;
    size_t bursts;
    int64_t *candidates;
    size_t count;
};

static void add(struct guesses *guesses, int64_t candidate)
{
    if (guesses->count < CANDIDATES_MAX && candidate > 0)
        guesses->candidates[guesses->count++] = candidate;
}

static void add_medians(struct guesses *guesses, int64_t *distances)
{
    for (size_t next = 1; next <= NEXT && next < guesses->bursts; next++) {
        const size_t count = guesses->bursts - next;
        for (size_t i = 0; i < count; i++)
            distances[i] = guesses->list[i + next].begin - guesses->list[i].begin;
        qsort(distances, count, sizeof *distances, compare);
        add(guesses, distances[count / 2]);
    }
}

/* Adds the mean distance of each class that has more distances than its neighbours. A class that
 * holds the period has about as many distances as there were periods, so classes with far fewer
 * distances do not count. */
static void add_peaks(struct guesses *guesses, const uint32_t counts[static CLASSES],
                      const int64_t sums[static CLASSES])
{
    const int64_t span = guesses->list[guesses->bursts - 1].begin - guesses->list[0].begin;
    for (size_t i = 1; i + 1 < CLASSES; i++) {
        const int64_t both = (int64_t)counts[i] + counts[i + 1];
        const bool is_peak =
            counts[i] > 0 && counts[i] >= counts[i - 1] && counts[i] >= counts[i + 1];
        const int64_t mean = is_peak ? sums[i] / counts[i] : 0;
        if (is_peak && mean > 0 && both * 2 >= span / mean)
            add(guesses, mean);
    }
}

static void count_distances(struct guesses *guesses, uint32_t counts[static CLASSES],
                            int64_t sums[static CLASSES])
{
    for (size_t i = 0; i < guesses->bursts; i++)
        for (size_t next = i + 1; next < guesses->bursts && next <= i + NEXT; next++) {
            const int64_t distance = guesses->list[next].begin - guesses->list[i].begin;
            const size_t class = class_of(distance);
            counts[class]++;
            sums[class] += distance;
        }
}

/* Sorts the candidates, and drops each candidate that differs by less than a percent from the
 * candidate before it. Returns the number left. */
static size_t sort(int64_t *candidates, size_t count)
{
    size_t kept = 0;
    qsort(candidates, count, sizeof *candidates, compare);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || candidates[i] - candidates[kept - 1] > candidates[kept - 1] / 100)
            candidates[kept++] = candidates[i];
    return kept;
}

size_t rhythm_candidates(const struct bursts *bursts, int64_t candidates[static CANDIDATES_MAX])
{
    static uint32_t counts[CLASSES];
    static int64_t sums[CLASSES];
    int64_t distances[LOOKED_AT];
    struct guesses guesses = {.list = bursts->list,
                              .bursts = bursts->count < LOOKED_AT ? bursts->count : LOOKED_AT,
                              .candidates = candidates};
    memset(counts, 0, sizeof counts);
    memset(sums, 0, sizeof sums);
    add_medians(&guesses, distances);
    count_distances(&guesses, counts, sums);
    add_peaks(&guesses, counts, sums);
    return sort(candidates, guesses.count);
}
