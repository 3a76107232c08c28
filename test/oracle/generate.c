#include "generate.h"

#include <math.h>

enum { LEAST = 2, MOST = 12 }; /* tasks */
/* number of shortest periods in a hyperperiod; the bound keeps the simulation short */
enum { HYPERPERIOD_MAX = 1000 };
enum { RUNTIME_MIN = 2 }; /* us: SCHED_DEADLINE's bound */

/* ---- Random numbers: splitmix64 ---- */

static uint64_t random_bits(struct random *random)
{
    uint64_t bits = random->state += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

struct random random_start(uint64_t seed, uint64_t number)
{
    struct random random = {.state = seed};
    random.state = random_bits(&random) + number;
    random.state = random_bits(&random);
    return random;
}

double random_unit(struct random *random)
{
    return (double)(random_bits(random) >> 11) * 0x1p-53;
}

int64_t random_below(struct random *random, int64_t limit)
{
    return (int64_t)(random_unit(random) * (double)limit);
}

static double random_between(struct random *random, double low, double high)
{
    return low + random_unit(random) * (high - low);
}

/* ---- Utilizations ---- */

void uunifast(struct random *random, int count, double sum, double utilization[])
{
    bool discard;
    do {
        double rest = sum;
        discard = false;
        for (int i = 0; i < count; i++) {
            double next =
                i + 1 < count ? rest * pow(random_unit(random), 1.0 / (count - 1 - i)) : 0;
            utilization[i] = rest - next;
            discard = discard || utilization[i] > 1;
            rest = next;
        }
    } while (discard);
}

/* ---- Periods ---- */

/* Periods are multiples of a unit. Harmonic: each period divides the next. Semi-harmonic, two
 * kinds: typical choices of engineers. Co-prime: a few such periods make a long hyperperiod.
 * Octave: neighbours such as 30 and 31, where no period is twice another. */
enum { OCTAVE = 4, FAMILIES };

static int64_t draw_multiple(struct random *random, int64_t family)
{
    static const int multiples[][8] = {
        {1, 2, 4, 8, 16, 32, 64, 128},
        {1, 2, 5, 10, 20, 50, 100, 200},
        {2, 3, 4, 6, 8, 12, 24, 48},
        {4, 5, 7, 9, 11, 13, 17, 19},
    };
    return family == OCTAVE ? 20 + random_below(random, 20)
                            : multiples[family][random_below(random, 8)];
}

/* A period that would make the hyperperiod too long becomes equal to another period. Sets with a
 * shared level are wanted, too. */
static void draw_periods(struct random *random, struct task_set *set, int64_t family)
{
    static const int64_t units[] = {100, 137, 250, 1000, 1009};
    int64_t unit = units[random_below(random, 5)];
    int64_t shortest = INT64_MAX;
    int count = set->count;
    for (int i = 0; i < count; i++) {
        struct task *task = &set->task[i];
        task->period = unit * draw_multiple(random, family);
        set->count = i + 1;
        if (hyperperiod(set) / (task->period < shortest ? task->period : shortest) >
            HYPERPERIOD_MAX)
            task->period = set->task[random_below(random, i)].period;
        if (task->period < shortest)
            shortest = task->period;
    }
    set->count = count;
}

/* ---- Runtimes ---- */

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The runtimes before the set is scaled to a boundary. */
struct draft {
    double weight[TASKS_MAX];
    int64_t grain; /* runtimes are multiples of this, so that releases and completions coincide */
};

static void scale(struct task_set *set, const struct draft *draft, double factor)
{
    for (int i = 0; i < set->count; i++) {
        struct task *task = &set->task[i];
        double grains = factor * draft->weight[i] * (double)task->period / (double)draft->grain;
        task->runtime = clamp(llround(grains) * draft->grain, RUNTIME_MIN, task->deadline);
    }
}

static double density(const struct task_set *set)
{
    double sum = 0;
    for (int i = 0; i < set->count; i++)
        sum += (double)set->task[i].runtime / (double)set->task[i].deadline;
    return sum;
}

static double utilization(const struct task_set *set)
{
    double sum = 0;
    for (int i = 0; i < set->count; i++)
        sum += (double)set->task[i].runtime / (double)set->task[i].period;
    return sum;
}

static double product(const struct task_set *set)
{
    double product = 1;
    for (int i = 0; i < set->count; i++)
        product *= 1 + (double)set->task[i].runtime / (double)set->task[i].period;
    return product;
}

static double largest_density(const struct task_set *set)
{
    double largest = 0;
    for (int i = 0; i < set->count; i++)
        largest = fmax(largest, (double)set->task[i].runtime / (double)set->task[i].deadline);
    return largest;
}

/* ---- Boundaries ---- */

enum focus { DENSITY, LIU_LAYLAND, HYPERBOLIC, EDGE_EDF, EDGE_RM, EDGE_TWO, EDGE_THREE, FOCUSES };
enum { GFB, PARTITIONED, POOL_FOCUSES };

/* Returns the left side of a test, divided by its right side. */
static double filling(const struct task_set *set, int focus, int cpus)
{
    if (cpus > 1)
        return (focus == GFB ? density(set) + (cpus - 1) * largest_density(set)
                             : utilization(set)) /
               cpus;
    if (focus == LIU_LAYLAND)
        return utilization(set) / (set->count * (pow(2, 1.0 / set->count) - 1));
    if (focus == HYPERBOLIC)
        return product(set) / 2;
    return focus == DENSITY ? density(set) : utilization(set);
}

static void fill(struct task_set *set, const struct draft *draft, int focus, int cpus,
                 double target)
{
    double low = 0, high = 2.0 * cpus;
    for (int step = 0; step < 24; step++) {
        double middle = (low + high) / 2;
        scale(set, draft, middle);
        if (filling(set, focus, cpus) < target)
            low = middle;
        else
            high = middle;
    }
}

static bool meets_all(const struct task_set *set, int focus)
{
    static const enum arrangement arrangements[] = {
        [EDGE_EDF] = ALL_DEADLINE,
        [EDGE_RM] = ALL_RATE_MONOTONIC,
        [EDGE_TWO] = TWO_LAYERS,
        [EDGE_THREE] = THREE_LAYERS,
    };
    struct task_set arranged = *set;
    struct miss miss;
    arrange(&arranged, arrangements[focus]);
    return !partitioned_misses(&arranged, &miss);
}

/* Sets one task's runtime to the largest one with which no task misses, or to one microsecond
 * more. */
static void go_to_edge(struct random *random, struct task_set *set, int focus)
{
    struct task *task = &set->task[random_below(random, set->count)];
    int64_t fits = RUNTIME_MIN, fails = task->deadline + 1;
    while (fails - fits > 1) {
        task->runtime = fits + (fails - fits) / 2;
        if (meets_all(set, focus))
            fits = task->runtime;
        else
            fails = task->runtime;
    }
    task->runtime = clamp(fits + random_below(random, 2), RUNTIME_MIN, task->deadline);
}

/* Different periods within an octave, the shortest first. */
static void draw_octave(struct random *random, struct task_set *set)
{
    struct task_set drawn = {.count = 2 + (int)random_below(random, 4)};
    draw_periods(random, &drawn, OCTAVE);
    set->count = 0;
    for (int64_t last = 0, next; last < INT64_MAX; last = next) {
        next = INT64_MAX;
        for (int i = 0; i < drawn.count; i++)
            if (drawn.task[i].period > last && drawn.task[i].period < next)
                next = drawn.task[i].period;
        if (next < INT64_MAX)
            set->task[set->count++] = (struct task){.period = next, .deadline = next};
    }
}

/* Makes sets for which the sufficient bounds of rate monotonic are tight: each runtime is the
 * difference to the next period. Then the product is at the hyperbolic bound; with equal ratios of
 * periods, the sum is at Liu and Layland's bound, too. */
static void make_critical(struct random *random, struct task_set *set, struct draft *draft)
{
    do
        draw_octave(random, set);
    while (set->count < LEAST);
    for (int i = 0; i < set->count; i++) {
        int64_t period = set->task[i].period;
        int64_t next = i + 1 < set->count ? set->task[i + 1].period : 2 * set->task[0].period;
        draft->weight[i] = (double)(next - period) / (double)period;
    }
    draft->grain = 1;
}

static void draw_deadlines(struct random *random, struct task_set *set)
{
    bool constrained = random_below(random, 2) == 1;
    for (int i = 0; i < set->count; i++) {
        struct task *task = &set->task[i];
        task->deadline = task->period;
        if (constrained && random_below(random, 4) > 0)
            task->deadline = clamp(llround(random_between(random, 0.3, 1) * (double)task->period),
                                   RUNTIME_MIN, task->period);
    }
}

/* Divides the runtimes, and then brings the load of most sets to the boundary of an exact test. */
static void tighten(struct random *random, struct task_set *set)
{
    static const int focuses[] = {EDGE_EDF, EDGE_RM, EDGE_TWO};
    const double part = random_between(random, 0.3, 1);
    for (int i = 0; i < set->count; i++) {
        struct task *task = &set->task[i];
        task->runtime = clamp(llround(part * (double)task->runtime), RUNTIME_MIN, task->deadline);
    }
    if (random_below(random, 4) > 0)
        go_to_edge(random, set, focuses[random_below(random, 3)]);
}

void generate_for_supply(struct task_set *set, const struct supply *supply, uint64_t seed,
                         uint64_t number)
{
    struct random random = random_start(seed, ~number);
    set->supply = *supply;
    tighten(&random, set);
}

void generate_blocked(struct task_set *set, const struct supply *supply, uint64_t seed,
                      uint64_t number)
{
    struct random random = random_start(seed + 1, ~number);
    set->supply = *supply;
    for (int i = 0; i < set->count; i++) {
        struct task *task = &set->task[i];
        if (random_below(&random, 2) == 0)
            task->blocking =
                1 + (int64_t)(random_between(&random, 0, 0.4) * (double)task->deadline);
    }
    tighten(&random, set);
}

void generate(struct task_set *set, uint64_t seed, uint64_t number, int cpus)
{
    struct random random = random_start(seed, number * 8 + (uint64_t)cpus);
    struct draft draft;
    *set = (struct task_set){.count = LEAST + (int)random_below(&random, MOST - LEAST + 1)};
    draw_periods(&random, set, random_below(&random, FAMILIES));
    draw_deadlines(&random, set);
    draft.grain = random_below(&random, 3) == 0 ? 50 : 1;
    uunifast(&random, set->count, 1, draft.weight);
    int focus = (int)(number % (cpus > 1 ? POOL_FOCUSES : FOCUSES));
    bool edge = cpus == 1 && focus >= EDGE_EDF;
    if (cpus == 1 && (focus == LIU_LAYLAND || focus == HYPERBOLIC) && random_below(&random, 2) == 0)
        make_critical(&random, set, &draft);
    for (int i = 0; i < set->count; i++)
        set->task[i].layer = (int)random_below(&random, LAYERS);
    fill(set, &draft, focus, cpus,
         edge ? random_between(&random, 0.7, 1) : random_between(&random, 0.93, 1.03));
    if (edge)
        go_to_edge(&random, set, focus);
}
