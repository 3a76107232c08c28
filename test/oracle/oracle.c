/* oracle [--sets N] [--seed S] [--only TEXT] PLUGINS:
 *     random task sets against the plugin programs in that directory
 * oracle --replay PLUGINS:
 *     tests the printed sets again, from standard input
 *
 * --only: only the modes whose names have this text.
 *
 * A set that a plugin has admitted in full is simulated and must not miss. Where the test claims to
 * be exact, a set that never misses must have been admitted, too. (It is enough to admit all tasks
 * or none: both tests are sustainable, so that a subset of an admitted set is also admitted.)
 * Prints sets that break a rule as JSON lines, then counts. Exit status 1: a rule was broken. */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "generate.h"
#include "plugin-process.h"

/* the number of task sets that are sent at once: their requests fit into a pipe, so that write(2)
 * never waits for the plugin */
enum { BATCH = 32 };
enum { SHOWN = 10 }; /* the number of sets that are printed for each mode */

/* ---- The modes ---- */

/* How the whole set is simulated. IN_PARTS: only the plugin's own partition of the tasks can be
 * simulated. */
enum system {
    BY_DEADLINE,
    BY_RATE,
    TWO,
    THREE,
    GLOBAL_2,
    GLOBAL_4,
    OVERRUN_1,
    OVERRUN_2,
    OVERRUN_4,
    FLUID_BY_DEADLINE,
    FLUID_BY_RATE,
    FLUID_TWO,
    GAPS_BY_DEADLINE,
    GAPS_BY_RATE,
    GAPS_TWO,
    BLOCKED_BY_DEADLINE,
    BLOCKED_BY_RATE,
    BLOCKED_TWO,
    FLUID_BLOCKED_BY_DEADLINE,
    FLUID_BLOCKED_BY_RATE,
    IN_PARTS,
    SYSTEMS
};

enum claim { NECESSARY, SUFFICIENT, EXACT };

struct layer {
    const char *program;
    const char *words[WORDS_MAX];
};

/* These words make the test exact: it counts nothing but the tasks. */
#define PURE "blocking=0us", "fair_server=0us"
#define EDF(cpus, partition, ...)                                                          \
    {                                                                                      \
        "edf",                                                                             \
        {                                                                                  \
            "cpus=" cpus, "priority=-", "partition=" partition, "threshold=1", __VA_ARGS__ \
        }                                                                                  \
    }
#define RM(cpus, priority, ...)                                            \
    {                                                                      \
        "rm",                                                              \
        {                                                                  \
            "cpus=" cpus, "priority=" priority, "threshold=1", __VA_ARGS__ \
        }                                                                  \
    }
/* us; the sets have periods from 100 us on */
enum { OVERRUN = 300 };
#define OVERRUNS            "overrun=300us"
#define DEMAND(cpus)        EDF(cpus, "unthrottled", "admission=demand", PURE)
#define RTA(cpus, priority) RM(cpus, priority, "admission=rta", PURE)
/* The supply alpha (t - delta), with alpha = 0.85 and delta = 60 us. In the worst case a server that
 * gives 170 us in each 200 us gives at least that: it gives its first 170 us at the beginning of a
 * period, and all others at the end. */
#define SUPPLY        "supply=0.85,60us"
#define DEMAND_SUPPLY EDF("0", "unthrottled", "admission=demand", PURE, SUPPLY)
#define RTA_SUPPLY    RM("0", "10-40", "admission=rta", PURE, SUPPLY)
static const struct supply fluid = {.first = 60, .rate = 17, .whole = 20};
static const struct supply whole = WHOLE_CPU;
static const struct supply gaps = {.first = 60, .on = 170, .off = 30, .rate = 1, .whole = 1};

static struct mode {
    const char *name;
    int cpus;
    enum system system;
    enum claim claim;
    struct layer layer[LAYERS];
    int64_t overrun; /* the overrun of each thread of other users; 0: no thread overruns */
    const struct supply *supply; /* NULL: a whole CPU */
    bool is_blocked;             /* tasks have blocking times */

    bool is_left_out; /* by --only */
    int layers;
    struct plugin_process plugin[LAYERS];
    uint64_t sets, admitted, schedulable, wrong_yes, wrong_no;
} modes[] = {
    {.name = "edf density",
     .cpus = 1,
     .system = BY_DEADLINE,
     .claim = SUFFICIENT,
     .layer = {EDF("0", "unthrottled", "admission=density")}},
    {.name = "edf demand",
     .cpus = 1,
     .system = BY_DEADLINE,
     .claim = EXACT,
     .layer = {DEMAND("0")}},
    {.name = "edf demand, 2 CPUs",
     .cpus = 2,
     .system = IN_PARTS,
     .claim = SUFFICIENT,
     .layer = {DEMAND("0-1")}},
    {.name = "edf gfb, 2 CPUs",
     .cpus = 2,
     .system = GLOBAL_2,
     .claim = SUFFICIENT,
     .layer = {EDF("0-1", "global", "admission=gfb")}},
    {.name = "edf gfb, 4 CPUs",
     .cpus = 4,
     .system = GLOBAL_4,
     .claim = SUFFICIENT,
     .layer = {EDF("0-3", "global", "admission=gfb")}},
    {.name = "edf bandwidth, 2 CPUs",
     .cpus = 2,
     .system = GLOBAL_2,
     .claim = NECESSARY,
     .layer = {EDF("0-1", "global", "admission=bandwidth")}},
    {.name = "edf bandwidth, 4 CPUs",
     .cpus = 4,
     .system = GLOBAL_4,
     .claim = NECESSARY,
     .layer = {EDF("0-3", "global", "admission=bandwidth")}},
    {.name = "edf density, overruns",
     .cpus = 1,
     .system = OVERRUN_1,
     .claim = SUFFICIENT,
     .overrun = OVERRUN,
     .layer = {EDF("0", "unthrottled", "admission=density", OVERRUNS)}},
    {.name = "edf demand, overruns",
     .cpus = 1,
     .system = OVERRUN_1,
     .claim = SUFFICIENT,
     .overrun = OVERRUN,
     .layer = {EDF("0", "unthrottled", "admission=demand", PURE, OVERRUNS)}},
    {.name = "edf demand, 2 CPUs, overruns",
     .cpus = 2,
     .system = IN_PARTS,
     .claim = SUFFICIENT,
     .overrun = OVERRUN,
     .layer = {EDF("0-1", "unthrottled", "admission=demand", PURE, OVERRUNS)}},
    {.name = "edf gfb, 2 CPUs, overruns",
     .cpus = 2,
     .system = OVERRUN_2,
     .claim = SUFFICIENT,
     .overrun = OVERRUN,
     .layer = {EDF("0-1", "global", "admission=gfb", OVERRUNS)}},
    {.name = "edf gfb, 4 CPUs, overruns",
     .cpus = 4,
     .system = OVERRUN_4,
     .claim = SUFFICIENT,
     .overrun = OVERRUN,
     .layer = {EDF("0-3", "global", "admission=gfb", OVERRUNS)}},
    {.name = "rm liu-layland",
     .cpus = 1,
     .system = BY_RATE,
     .claim = SUFFICIENT,
     .layer = {RM("0", "10-40", "admission=liu-layland")}},
    {.name = "rm hyperbolic",
     .cpus = 1,
     .system = BY_RATE,
     .claim = SUFFICIENT,
     .layer = {RM("0", "10-40", "admission=hyperbolic")}},
    {.name = "rm necessary",
     .cpus = 1,
     .system = BY_RATE,
     .claim = NECESSARY,
     .layer = {RM("0", "10-40", "admission=necessary")}},
    {.name = "rm rta", .cpus = 1, .system = BY_RATE, .claim = EXACT, .layer = {RTA("0", "10-40")}},
    {.name = "rm rta, 3 levels",
     .cpus = 1,
     .system = BY_RATE,
     .claim = SUFFICIENT,
     .layer = {RTA("0", "10-12")}},
    {.name = "rm rta, 2 CPUs",
     .cpus = 2,
     .system = IN_PARTS,
     .claim = SUFFICIENT,
     .layer = {RTA("0-1", "10-40")}},
    {.name = "edf demand + rm rta",
     .cpus = 1,
     .system = TWO,
     .claim = EXACT,
     .layer = {DEMAND("0"), RTA("0", "10-40")}},
    {.name = "edf demand + rm rta + rm rta",
     .cpus = 1,
     .system = THREE,
     .claim = EXACT,
     .layer = {DEMAND("0"), RTA("0", "51-90"), RTA("0", "10-40")}},
    {.name = "edf demand, supply",
     .cpus = 1,
     .system = FLUID_BY_DEADLINE,
     .claim = EXACT,
     .supply = &fluid,
     .layer = {DEMAND_SUPPLY}},
    {.name = "rm rta, supply",
     .cpus = 1,
     .system = FLUID_BY_RATE,
     .claim = EXACT,
     .supply = &fluid,
     .layer = {RTA_SUPPLY}},
    {.name = "edf demand + rm rta, supply",
     .cpus = 1,
     .system = FLUID_TWO,
     .claim = EXACT,
     .supply = &fluid,
     .layer = {DEMAND_SUPPLY, RTA_SUPPLY}},
    {.name = "edf demand, gaps in supply",
     .cpus = 1,
     .system = GAPS_BY_DEADLINE,
     .claim = SUFFICIENT,
     .supply = &gaps,
     .layer = {DEMAND_SUPPLY}},
    {.name = "rm rta, gaps in supply",
     .cpus = 1,
     .system = GAPS_BY_RATE,
     .claim = SUFFICIENT,
     .supply = &gaps,
     .layer = {RTA_SUPPLY}},
    {.name = "edf + rm, gaps in supply",
     .cpus = 1,
     .system = GAPS_TWO,
     .claim = SUFFICIENT,
     .supply = &gaps,
     .layer = {DEMAND_SUPPLY, RTA_SUPPLY}},
    {.name = "edf demand, blocking",
     .cpus = 1,
     .system = BLOCKED_BY_DEADLINE,
     .claim = EXACT,
     .supply = &whole,
     .is_blocked = true,
     .layer = {DEMAND("0")}},
    {.name = "rm rta, blocking",
     .cpus = 1,
     .system = BLOCKED_BY_RATE,
     .claim = EXACT,
     .supply = &whole,
     .is_blocked = true,
     .layer = {RTA("0", "10-40")}},
    {.name = "edf demand + rm rta, blocking",
     .cpus = 1,
     .system = BLOCKED_TWO,
     .claim = EXACT,
     .supply = &whole,
     .is_blocked = true,
     .layer = {DEMAND("0"), RTA("0", "10-40")}},
    {.name = "edf demand, blocking, supply",
     .cpus = 1,
     .system = FLUID_BLOCKED_BY_DEADLINE,
     .claim = EXACT,
     .supply = &fluid,
     .is_blocked = true,
     .layer = {DEMAND_SUPPLY}},
    {.name = "rm rta, blocking, supply",
     .cpus = 1,
     .system = FLUID_BLOCKED_BY_RATE,
     .claim = EXACT,
     .supply = &fluid,
     .is_blocked = true,
     .layer = {RTA_SUPPLY}},
};

enum { MODES = sizeof modes / sizeof *modes };

/* ---- A set and its result ---- */

enum { POOLS = 3 };
static const int pools[POOLS] = {1, 2, 4}; /* the numbers of CPUs for which the set is made */

struct verdict {
    bool known, misses;
    struct miss miss;
    struct task_set set; /* the set, as `arrange` has left it */
};

struct trial {
    struct task_set set[POOLS];
    /* the same set with shorter runtimes, to leave room for overruns */
    struct task_set loose[POOLS];
    struct task_set slow; /* a set for a CPU that gives less than all of its time */
    struct task_set blocked, blocked_slow;
    struct verdict verdict[SYSTEMS];
};

static const struct task_set *set_for(const struct trial *trial, const struct mode *mode)
{
    int pool = POOLS - 1;
    if (mode->is_blocked)
        return mode->supply == &whole ? &trial->blocked : &trial->blocked_slow;
    if (mode->supply != NULL)
        return &trial->slow;
    while (pool > 0 && pools[pool] != mode->cpus)
        pool--;
    return mode->overrun > 0 ? &trial->loose[pool] : &trial->set[pool];
}

static const struct verdict *simulate(struct trial *trial, const struct mode *mode)
{
    static const enum arrangement arrangements[] = {
        [BY_DEADLINE] = ALL_DEADLINE,
        [BY_RATE] = ALL_RATE_MONOTONIC,
        [TWO] = TWO_LAYERS,
        [THREE] = THREE_LAYERS,
        [GLOBAL_2] = ALL_DEADLINE,
        [GLOBAL_4] = ALL_DEADLINE,
        [OVERRUN_1] = ALL_DEADLINE,
        [OVERRUN_2] = ALL_DEADLINE,
        [OVERRUN_4] = ALL_DEADLINE,
        [FLUID_BY_DEADLINE] = ALL_DEADLINE,
        [FLUID_BY_RATE] = ALL_RATE_MONOTONIC,
        [FLUID_TWO] = TWO_LAYERS,
        [GAPS_BY_DEADLINE] = ALL_DEADLINE,
        [GAPS_BY_RATE] = ALL_RATE_MONOTONIC,
        [GAPS_TWO] = TWO_LAYERS,
        [BLOCKED_BY_DEADLINE] = ALL_DEADLINE,
        [BLOCKED_BY_RATE] = ALL_RATE_MONOTONIC,
        [BLOCKED_TWO] = TWO_LAYERS,
        [FLUID_BLOCKED_BY_DEADLINE] = ALL_DEADLINE,
        [FLUID_BLOCKED_BY_RATE] = ALL_RATE_MONOTONIC,
    };
    struct verdict *verdict = &trial->verdict[mode->system];
    if (verdict->known)
        return verdict;
    verdict->known = true;
    verdict->set = *set_for(trial, mode);
    if (mode->supply != NULL)
        verdict->set.supply = *mode->supply;
    arrange(&verdict->set, arrangements[mode->system]);
    verdict->misses = global_misses(&verdict->set, mode->cpus, &verdict->miss);
    return verdict;
}

static json_t *tasks_as_json(const struct task_set *set)
{
    json_t *tasks = json_array();
    for (int i = 0; i < set->count; i++) {
        const struct task *task = &set->task[i];
        json_array_append_new(tasks, json_pack("{s:I, s:I, s:I, s:I, s:i, s:i, s:i}", "runtime",
                                               (json_int_t)task->runtime, "deadline",
                                               (json_int_t)task->deadline, "period",
                                               (json_int_t)task->period, "blocking",
                                               (json_int_t)task->blocking, "layer", task->layer,
                                               "cpu", task->cpu, "priority", task->priority));
    }
    return tasks;
}

/* Prints a set that breaks a rule. A miss has the task, from 1 on, and its deadline. A refusal has
 * the plugin's reason. */
static void show(const struct mode *mode, const struct task_set *set, const struct miss *miss,
                 const char *reason)
{
    json_t *line = json_pack("{s:s, s:s}", "mode", mode->name, "violation",
                             miss != NULL ? "admitted, but misses" : "never misses, but refused");
    if (miss != NULL)
        json_object_set_new(line, "miss",
                            json_pack("{s:i, s:I}", "task", miss->task + 1, "at",
                                      (json_int_t)miss->at));
    else
        json_object_set_new(line, "reason", json_string(reason));
    json_object_set_new(line, "tasks", tasks_as_json(set));
    if (json_dumpf(line, stdout, JSON_PRESERVE_ORDER) != 0)
        err(EX_OSERR, "standard output");
    putchar('\n');
    json_decref(line);
}

/* told: the set with the priorities and CPUs from the plugins. refusal: NULL, or the reason why the
 * plugins did not admit all tasks. */
static void judge(struct mode *mode, struct trial *trial, const struct task_set *told,
                  const char *refusal)
{
    bool admitted = refusal == NULL;
    const struct verdict *verdict = mode->system == IN_PARTS ? NULL : simulate(trial, mode);
    bool schedulable = verdict != NULL && !verdict->misses,
         misses = verdict != NULL && verdict->misses;
    struct miss miss = verdict != NULL ? verdict->miss : (struct miss){0};
    if (admitted && (verdict == NULL || !same_order(told, &verdict->set)))
        misses = partitioned_misses(told, &miss);
    bool wrong_yes = admitted && misses, wrong_no = schedulable && !admitted;
    mode->sets++;
    mode->admitted += admitted;
    mode->schedulable += schedulable;
    mode->wrong_yes += wrong_yes;
    mode->wrong_no += wrong_no;
    if (wrong_yes && mode->claim >= SUFFICIENT && mode->wrong_yes <= SHOWN)
        show(mode, told, &miss, NULL);
    if (wrong_no && mode->claim == EXACT && mode->wrong_no <= SHOWN)
        show(mode, told, NULL, refusal);
}

/* ---- Several plugins on one CPU: asked in turn, as the broker does ---- */

static const char *lower_layers_refuse(struct mode *mode, int layer, int number,
                                       const struct task *task)
{
    const char *refusal = NULL;
    for (int i = layer + 1; i < mode->layers && refusal == NULL; i++) {
        plugin_ask_load(&mode->plugin[i], number, task, true);
        plugin_flush(&mode->plugin[i]);
        refusal = plugin_answer(&mode->plugin[i], number, NULL);
    }
    return refusal;
}

static const char *enter(struct mode *mode, int number, struct task_set *set)
{
    struct task *task = &set->task[number - 1];
    int layer = task->layer < mode->layers ? task->layer : mode->layers - 1;
    struct plugin_process *plugin = &mode->plugin[layer];
    plugin_ask_accept(plugin, number, task, false);
    plugin_flush(plugin);
    const char *refusal = plugin_answer(plugin, number, set);
    if (refusal == NULL)
        refusal = lower_layers_refuse(mode, layer, number, task);
    if (refusal != NULL)
        return refusal;
    for (int i = 0; i < layer; i++) {
        plugin_ask_load(&mode->plugin[i], number, task, false);
        plugin_flush(&mode->plugin[i]);
        plugin_answer(&mode->plugin[i], number, NULL);
    }
    plugin_ask_schedule(plugin, number, task);
    plugin_flush(plugin);
    return plugin_answer(plugin, number, set);
}

/* Releases the admitted tasks, and the task that was being tried. */
static void leave(struct mode *mode, int count)
{
    for (int i = 0; i < mode->layers; i++) {
        struct plugin_process *plugin = &mode->plugin[i];
        for (int number = 1; number <= count; number++) {
            plugin_ask_unload(plugin, number);
            plugin_ask_release(plugin, number);
        }
        plugin_flush(plugin);
        for (int number = 1; number <= count; number++) {
            plugin_answer(plugin, number, NULL);
            plugin_answer(plugin, number, NULL);
        }
    }
}

static const char *ask_stack(struct mode *mode, struct task_set *set)
{
    const char *refusal = NULL;
    int number = 0;
    while (number < set->count && refusal == NULL)
        refusal = enter(mode, ++number, set);
    leave(mode, number);
    return refusal;
}

/* ---- The run ---- */

static void start(const char *directory, const char *only)
{
    for (int i = 0; i < MODES; i++)
        modes[i].is_left_out = strstr(modes[i].name, only) == NULL;
    for (int i = 0; i < MODES; i++)
        for (struct mode *mode = &modes[i]; !mode->is_left_out && mode->layers < LAYERS &&
                                            mode->layer[mode->layers].program != NULL;
             mode->layers++)
            plugin_start(&mode->plugin[mode->layers], directory, mode->layer[mode->layers].program,
                         mode->layer[mode->layers].words);
}

static void stop(void)
{
    for (int i = 0; i < MODES; i++)
        for (int layer = 0; layer < modes[i].layers; layer++)
            plugin_stop(&modes[i].plugin[layer]);
}

static void ask_ahead(struct mode *mode, const struct trial *trial)
{
    if (mode->layers == 1)
        plugin_ask_set(&mode->plugin[0], set_for(trial, mode));
}

static void try_mode(struct mode *mode, struct trial *trial)
{
    struct task_set told = *set_for(trial, mode);
    if (mode->supply != NULL)
        told.supply = *mode->supply;
    const char *refusal =
        mode->layers > 1 ? ask_stack(mode, &told) : plugin_hear_set(&mode->plugin[0], &told);
    judge(mode, trial, &told, refusal);
}

static void try_batch(struct trial *trials, int count)
{
    for (int i = 0; i < MODES; i++)
        for (int j = 0; j < count && !modes[i].is_left_out; j++)
            ask_ahead(&modes[i], &trials[j]);
    for (int i = 0; i < MODES; i++)
        if (!modes[i].is_left_out)
            plugin_flush(&modes[i].plugin[0]);
    for (int i = 0; i < MODES; i++)
        for (int j = 0; j < count && !modes[i].is_left_out; j++)
            try_mode(&modes[i], &trials[j]);
}

/* Divides the runtimes by up to fifty, so that a few of the tasks are admitted beside overruns. */
static void loosen(struct task_set *loose, const struct task_set *set, uint64_t seed,
                   uint64_t number)
{
    struct random random = random_start(seed, ~number);
    const int64_t part = 1 + random_below(&random, 50);
    *loose = *set;
    loose->overrun = OVERRUN;
    loose->count = 2 + (int)random_below(&random, set->count - 1);
    for (int i = 0; i < loose->count; i++) {
        struct task *task = &loose->task[i];
        task->runtime = task->runtime * part / 50 > 2 ? task->runtime * part / 50 : 2;
    }
}

/* True if some mode needs such a set. Finding the boundary of a test for a set takes most time. */
static bool is_wanted(const struct supply *supply, bool is_blocked)
{
    bool wanted = false;
    for (int i = 0; i < MODES; i++)
        wanted = wanted || (!modes[i].is_left_out && modes[i].supply == supply &&
                            modes[i].is_blocked == is_blocked);
    return wanted;
}

static void generate_delayed(struct trial *trial, uint64_t seed, uint64_t number)
{
    trial->slow = trial->blocked = trial->blocked_slow = trial->set[0];
    if (is_wanted(&fluid, false) || is_wanted(&gaps, false))
        generate_for_supply(&trial->slow, &fluid, seed, number);
    if (is_wanted(&whole, true))
        generate_blocked(&trial->blocked, &whole, seed, number);
    if (is_wanted(&fluid, true))
        generate_blocked(&trial->blocked_slow, &fluid, seed, number);
}

static void try_random(uint64_t sets, uint64_t seed)
{
    static struct trial trials[BATCH];
    for (uint64_t number = 0; number < sets;) {
        int count = 0;
        for (; count < BATCH && number < sets; count++, number++) {
            trials[count] = (struct trial){0};
            for (int i = 0; i < POOLS; i++)
                generate(&trials[count].set[i], seed, number, pools[i]);
            for (int i = 0; i < POOLS; i++)
                loosen(&trials[count].loose[i], &trials[count].set[i], seed, number);
            generate_delayed(&trials[count], seed, number);
        }
        try_batch(trials, count);
    }
}

/* ---- Replay ---- */

static void read_set(const char *line, const char **mode, struct task_set *set, json_t **document)
{
    json_error_t error;
    json_t *tasks;
    *document = json_loads(line, 0, &error);
    if (*document == NULL ||
        json_unpack_ex(*document, &error, 0, "{s:s, s:o}", "mode", mode, "tasks", &tasks) != 0)
        errx(EX_DATAERR, "standard input: %s", error.text);
    *set = (struct task_set){.count = (int)json_array_size(tasks)};
    if (set->count > TASKS_MAX)
        errx(EX_DATAERR, "standard input: more than %d tasks", TASKS_MAX);
    for (int i = 0; i < set->count; i++) {
        json_int_t runtime, deadline, period, blocking = 0;
        struct task *task = &set->task[i];
        if (json_unpack_ex(json_array_get(tasks, (size_t)i), &error, 0,
                           "{s:I, s:I, s:I, s?:I, s?:i}", "runtime", &runtime, "deadline",
                           &deadline, "period", &period, "blocking", &blocking, "layer",
                           &task->layer) != 0)
            errx(EX_DATAERR, "standard input: %s", error.text);
        task->runtime = runtime;
        task->deadline = deadline;
        task->period = period;
        task->blocking = blocking;
    }
}

static void replay(void)
{
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        struct trial trial = {0};
        struct task_set set;
        const char *name;
        json_t *document;
        read_set(line, &name, &set, &document);
        for (int i = 0; i < POOLS; i++) {
            trial.set[i] = trial.loose[i] = set;
            trial.loose[i].overrun = OVERRUN;
        }
        trial.slow = trial.blocked = trial.blocked_slow = set;
        for (int i = 0; i < MODES; i++)
            if (strcmp(modes[i].name, name) == 0) {
                ask_ahead(&modes[i], &trial);
                plugin_flush(&modes[i].plugin[0]);
                try_mode(&modes[i], &trial);
            }
        json_decref(document);
    }
    free(line);
}

/* ---- The table ---- */

static void print_number(bool shown, uint64_t value)
{
    if (shown)
        printf(" %12" PRIu64, value);
    else
        printf(" %12s", "-");
}

static bool print_table(void)
{
    static const char *const claims[] = {"necessary", "sufficient", "exact"};
    bool good = true;
    printf("%78s %12s %12s\n", "", "admitted,", "never misses");
    printf("%-28s %-10s %12s %12s %12s %12s %12s\n", "mode", "held to", "sets", "admitted",
           "schedulable", "but misses", "but refused");
    for (int i = 0; i < MODES; i++) {
        const struct mode *mode = &modes[i];
        if (mode->sets == 0)
            continue;
        printf("%-28s %-10s", mode->name, claims[mode->claim]);
        print_number(true, mode->sets);
        print_number(true, mode->admitted);
        print_number(mode->system != IN_PARTS, mode->schedulable);
        print_number(true, mode->wrong_yes);
        print_number(mode->system != IN_PARTS, mode->wrong_no);
        putchar('\n');
        good = good && (mode->claim < SUFFICIENT || mode->wrong_yes == 0) &&
               (mode->claim < EXACT || mode->wrong_no == 0);
    }
    return good;
}

static uint64_t number_or_usage(const char *text)
{
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0')
        errx(EX_USAGE, "%s is no number", text);
    return value;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"sets", required_argument, NULL, 'n'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"only", required_argument, NULL, 'o'},
                                            {"replay", no_argument, NULL, 'r'},
                                            {0}};
    uint64_t sets = 5000, seed = 1;
    bool replays = false;
    const char *only = "";
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'n')
            sets = number_or_usage(optarg);
        else if (option == 's')
            seed = number_or_usage(optarg);
        else if (option == 'o')
            only = optarg;
        else if (option == 'r')
            replays = true;
        else
            return EX_USAGE;
    }
    if (optind + 1 != argc)
        errx(EX_USAGE, "usage: oracle [--sets N] [--seed S] [--only TEXT] | --replay PLUGINS");
    signal(SIGPIPE, SIG_IGN);
    start(argv[optind], only);
    if (replays)
        replay();
    else
        try_random(sets, seed);
    stop();
    return print_table() ? EXIT_SUCCESS : EXIT_FAILURE;
}
