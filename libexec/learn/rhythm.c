#include "rhythm.h"

#include <stdlib.h>
#include <string.h>

#include "rhythm-candidates.h"

enum {
    FEWEST_ACTIVATIONS = 8, /* fewer activations are no evidence of a period */
    /* number of activations in a row; if so many are missing, the rhythm has stopped */
    PAUSE = 50,
    MANY = 64, /* number of activations from which MANY_STEADY counts */
    FEW_STEADY = 32,
    MANY_STEADY = 10, /* parts of a period; the mean deviation must be at most one part */
    NEAR = 64,        /* a hit is near if it is off by less than this part of a period */
    STREAK = 3,       /* number of hits in a row that are not by chance */
    /* number of bursts in the middle of the list from which a candidate is followed */
    ANCHORS = 4,
    SURE = 32,          /* number of activations; more activations do not raise the confidence */
    HITS_PERCENT = 80,  /* so many of the expected activations must be there */
    PHASES = 64,        /* parts of a period */
    EMPTY = PHASES / 4, /* number of parts in a row that must be nearly empty */
    /* the most bursts in the empty parts, relative to bursts at random times */
    NOISE_PERMILLE = 100
};

/* The walk that follows one candidate through the bursts. A hit is a burst near an expected
 * time. */
struct path {
    const struct burst *list;
    size_t bursts;
    size_t first, last; /* the first and the last hit */
    int64_t period;
    int64_t *begins; /* the expected times of the activations */
    size_t room, expected, hits;
    int64_t deviation; /* the sum of the distances of the hits from their expected times */
    /* sums over the hits, for the line through them; k: the number of the activation, t: the time
     * since the first hit */
    __int128 k, kk, t, kt;
};

static bool is_hit(const struct path *path, size_t at, int64_t expected)
{
    return llabs(path->list[at].begin - expected) <= path->period / 4;
}

/* Returns the burst that begins nearest to the time. Searches forwards from `from` (step 1), or
 * backwards (step -1). */
static size_t nearest(const struct path *path, size_t from, int step, int64_t time)
{
    for (;;) {
        const size_t next = from + (size_t)step;
        if (next >= path->bursts ||
            llabs(path->list[next].begin - time) > llabs(path->list[from].begin - time))
            return from;
        from = next;
    }
}

/* Follows the period backwards from the burst `anchor`, and sets path->first, the burst with which
 * the periodic work begins. Before its periodic work a program does other things. So an early hit
 * counts only if it is as near to its expected time as the later hits, and is one of several hits
 * in a row. */
static void find_first(struct path *path, size_t anchor)
{
    int64_t expected = path->list[anchor].begin;
    const int64_t near = path->period / NEAR + 4 * path->deviation / (int64_t)path->hits;
    size_t at = anchor;
    path->first = anchor;
    for (unsigned misses = 0, streak = 0; misses < PAUSE && expected >= path->list[0].begin;) {
        at = nearest(path, at, -1, expected);
        if (is_hit(path, at, expected) && llabs(path->list[at].begin - expected) <= near) {
            misses = 0;
            if (++streak >= STREAK)
                path->first = at;
            expected += (path->list[at].begin - expected) / 2;
        } else {
            misses++;
            streak = 0;
        }
        expected -= path->period;
    }
}

static void take_hit(struct path *path, size_t at, int64_t expected)
{
    const int64_t since = path->list[at].begin - path->list[path->first].begin;
    const int64_t number = (int64_t)path->expected;
    path->last = at;
    path->hits++;
    path->deviation += llabs(path->list[at].begin - expected);
    path->k += number;
    path->kk += (__int128)number * number;
    path->t += since;
    path->kt += (__int128)number * since;
}

/* Follows the period forwards, to the last burst or to a pause. After a hit, the next expected time
 * moves by half of the deviation. So the walk follows a timer that drifts, and one late wake-up
 * does not lead the walk astray. */
static void follow(struct path *path)
{
    int64_t expected = path->list[path->first].begin;
    size_t at = path->first, misses = 0;
    path->expected = path->hits = 0;
    path->deviation = 0;
    path->k = path->kk = path->t = path->kt = 0;
    while (at + 1 < path->bursts && path->expected < path->room && misses < PAUSE) {
        at = nearest(path, at, 1, expected);
        misses++;
        if (is_hit(path, at, expected)) {
            misses = 0;
            take_hit(path, at, expected);
            expected += (path->list[at].begin - expected) / 2;
        }
        path->begins[path->expected++] = expected;
        expected += path->period;
    }
    path->expected -= misses;
}

/* Returns the slope of the line through the hits, by least squares. The slope is the period. */
static int64_t slope(const struct path *path)
{
    const __int128 n = (__int128)path->hits;
    const __int128 divisor = n * path->kk - path->k * path->k;
    return divisor <= 0 ? path->period
                        : (int64_t)((n * path->kt - path->k * path->t + divisor / 2) / divisor);
}

/* Counts the bursts in each part of the period. */
static void count_phases(const struct path *path, size_t counts[static PHASES])
{
    size_t at = 0;
    memset(counts, 0, PHASES * sizeof *counts);
    for (size_t i = path->first; i <= path->last; i++) {
        while (at + 1 < path->expected && path->begins[at + 1] <= path->list[i].begin)
            at++;
        int64_t phase = (path->list[i].begin - path->begins[at]) % path->period;
        if (phase < 0)
            phase += path->period;
        counts[phase * PHASES / path->period]++;
    }
}

/* Returns the number of bursts in the emptiest quarter of the period. Several neighbouring quarters
 * may be equally empty. *middle: the part of the period in the middle of them, which is as far as
 * possible from the bursts on both sides. */
static size_t emptiest(const size_t counts[static PHASES], size_t *middle)
{
    size_t least = SIZE_MAX, run = 0, longest = 0, sums[PHASES];
    for (size_t first = 0; first < PHASES; first++) {
        sums[first] = 0;
        for (size_t i = 0; i < EMPTY; i++)
            sums[first] += counts[(first + i) % PHASES];
        if (sums[first] < least)
            least = sums[first];
    }
    *middle = 0;
    for (size_t i = 0; i < 2 * (size_t)PHASES; i++) {
        run = sums[i % PHASES] == least ? run + 1 : 0;
        if (run > longest && run <= PHASES) {
            longest = run;
            *middle = (i - run / 2 + EMPTY / 2) % PHASES;
        }
    }
    return least;
}

static bool is_followed(const struct path *path)
{
    return path->hits >= FEWEST_ACTIVATIONS && path->hits * 100 >= path->expected * HITS_PERCENT;
}

/* True if the activations are near their expected times. Few bursts at random times can look like a
 * period, so few activations must be nearer than many. */
static bool is_steady(const struct path *path)
{
    const int64_t part = path->hits < MANY ? FEW_STEADY : MANY_STEADY;
    return path->deviation / (int64_t)path->hits <= path->period / part;
}

/* Moves each expected time back into the empty part of the period before it, so that no job is cut
 * in two. */
static void move_begins(struct path *path, size_t middle)
{
    const int64_t back = path->period - path->period * (int64_t)middle / PHASES;
    for (size_t i = 0; i < path->expected; i++)
        path->begins[i] -= back;
}

/* Divides each period into `parts` equal parts, and returns how many of all these parts have
 * exactly one burst. */
static size_t single_bursts(const struct path *path, size_t parts)
{
    size_t at = path->first, singles = 0;
    for (size_t i = 0; i < path->expected * parts; i++) {
        const int64_t end =
            path->begins[i / parts] + path->period * (int64_t)(i % parts + 1) / (int64_t)parts;
        const size_t first = at;
        while (at <= path->last && path->list[at].begin < end)
            at++;
        singles += at - first == 1;
    }
    return singles;
}

/* A timer with much jitter can fail the test with its own period, and pass the test with twice its
 * period. So if the period has equal parts, and each part has one burst, one such part is the true
 * period. */
static void divide(struct path *path)
{
    const size_t bursts = path->last - path->first + 1;
    const size_t parts = (bursts + path->expected / 2) / path->expected;
    const size_t count = path->expected * parts;
    if (parts < 2 || single_bursts(path, parts) * 100 < count * HITS_PERCENT)
        return;
    int64_t *begins = calloc(count + 1, sizeof *begins);
    if (begins == NULL)
        return;
    path->expected *= parts;
    path->period /= (int64_t)parts;
    for (size_t i = 0; i < path->expected; i++)
        begins[i] = path->begins[i / parts] + (int64_t)(i % parts) * path->period;
    free(path->begins);
    path->begins = begins;
    path->hits = bursts;
}

static unsigned confidence_of(const struct path *path)
{
    const uint64_t hits = path->hits, expected = path->expected;
    const uint64_t enough = hits >= SURE ? SURE : hits;
    const uint64_t deviation = (uint64_t)path->deviation / hits * 4;
    const uint64_t period = (uint64_t)path->period;
    const uint64_t steady = deviation >= period ? 0 : (period - deviation) * 1000 / period;
    return (unsigned)(hits * 100 / expected * enough / SURE * steady / 1000);
}

/* Judges one candidate, in three walks through the bursts. The first walk uses the candidate as the
 * period. Each further walk uses the slope that the walk before has found. */
static bool is_period(struct path *path, size_t anchor)
{
    size_t counts[PHASES], middle;
    path->first = anchor;
    for (int walk = 0; walk < 3; walk++) {
        if (walk > 0)
            find_first(path, anchor);
        follow(path);
        if (!is_followed(path))
            return false;
        path->period = slope(path);
        if (path->period <= 0)
            return false;
    }
    if (!is_steady(path) || (path->last - path->first) * 2 < path->bursts - 1)
        return false;
    count_phases(path, counts);
    const size_t there = emptiest(counts, &middle);
    if (there * (PHASES / EMPTY) * 1000 > (path->last - path->first + 1) * NOISE_PERMILLE)
        return false;
    move_begins(path, middle);
    divide(path);
    return true;
}

static bool judge(const struct bursts *bursts, int64_t candidate, struct rhythm *rhythm)
{
    const size_t middle = bursts->count / 2;
    struct path path = {.list = bursts->list,
                        .bursts = bursts->count,
                        .room = bursts->count * 100 / HITS_PERCENT + 2};
    bool good = false;
    path.begins = calloc(path.room, sizeof *path.begins);
    for (size_t i = 0; path.begins != NULL && !good && i < ANCHORS; i++) {
        path.period = candidate;
        good = middle + i < bursts->count && is_period(&path, middle + i);
    }
    if (good)
        *rhythm = (struct rhythm){.period = path.period,
                                  .jitter = path.deviation / (int64_t)path.hits,
                                  .confidence = confidence_of(&path),
                                  .begins = path.begins,
                                  .count = path.expected};
    else
        free(path.begins);
    return good;
}

bool rhythm_find(const struct bursts *bursts, int64_t shortest, struct rhythm *rhythm)
{
    int64_t candidates[CANDIDATES_MAX];
    *rhythm = (struct rhythm){0};
    if (bursts->count < FEWEST_ACTIVATIONS)
        return false;
    const size_t count = rhythm_candidates(bursts, candidates);
    for (size_t i = 0; i < count; i++)
        if (candidates[i] >= shortest && judge(bursts, candidates[i], rhythm))
            break;
    if (rhythm->period >= shortest && rhythm->period > 0)
        return true;
    rhythm_free(rhythm);
    return false;
}

void rhythm_free(struct rhythm *rhythm)
{
    free(rhythm->begins);
    *rhythm = (struct rhythm){0};
}
