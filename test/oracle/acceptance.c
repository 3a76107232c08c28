/* acceptance PLUGINS: the share of random task sets that each mode of the plugins in the directory
 * PLUGINS admits, against the utilization of the sets. Prints a table for gnuplot: one block for
 * implicit deadlines, one for constrained ones.
 *
 * 8 tasks for each CPU; utilizations by UUniFast with discarding; periods log-uniform from 1 ms to
 * 1 s, runtimes rounded down to whole microseconds; constrained deadlines uniform between half the
 * period and the period. */
#include <err.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "generate.h"
#include "plugin-process.h"

enum { TASKS_PER_CPU = 8 };
/* number of sets whose requests fit into one pipe */
enum { BATCH = 16 };
enum { FROM = 400, TO = 1050, STEP = 25 };      /* thousandths of all CPUs */
enum { SEED = 1, SETS = 1000 / BATCH * BATCH }; /* sets for each point */

#define EXACT_WORDS "blocking=0us", "fair_server=0us"

static struct column {
    const char *name;
    int cpus;
    const char *program;
    const char *words[WORDS_MAX];
    struct plugin_process plugin;
} columns[] = {
    {.name = "demand",
     .cpus = 1,
     .program = "edf",
     .words = {"cpus=0", "priority=-", "partition=unthrottled", "threshold=1", "admission=demand",
               EXACT_WORDS}},
    {.name = "density",
     .cpus = 1,
     .program = "edf",
     .words = {"cpus=0", "priority=-", "partition=unthrottled", "threshold=1",
               "admission=density"}},
    {.name = "necessary",
     .cpus = 1,
     .program = "rm",
     .words = {"cpus=0", "priority=10-40", "threshold=1", "admission=necessary"}},
    {.name = "rta",
     .cpus = 1,
     .program = "rm",
     .words = {"cpus=0", "priority=10-40", "threshold=1", "admission=rta", EXACT_WORDS}},
    {.name = "hyperbolic",
     .cpus = 1,
     .program = "rm",
     .words = {"cpus=0", "priority=10-40", "threshold=1", "admission=hyperbolic"}},
    {.name = "liu-layland",
     .cpus = 1,
     .program = "rm",
     .words = {"cpus=0", "priority=10-40", "threshold=1", "admission=liu-layland"}},
    {.name = "bandwidth-2",
     .cpus = 2,
     .program = "edf",
     .words = {"cpus=0-1", "priority=-", "partition=global", "threshold=1", "admission=bandwidth"}},
    {.name = "bandwidth-4",
     .cpus = 4,
     .program = "edf",
     .words = {"cpus=0-3", "priority=-", "partition=global", "threshold=1", "admission=bandwidth"}},
    {.name = "gfb-2",
     .cpus = 2,
     .program = "edf",
     .words = {"cpus=0-1", "priority=-", "partition=global", "threshold=1", "admission=gfb"}},
    {.name = "gfb-4",
     .cpus = 4,
     .program = "edf",
     .words = {"cpus=0-3", "priority=-", "partition=global", "threshold=1", "admission=gfb"}},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static void draw(struct task_set *set, uint64_t number, int cpus, double utilization,
                 bool constrained)
{
    struct random random = random_start(SEED, number * 8 + (uint64_t)cpus);
    double shares[TASKS_MAX];
    *set = (struct task_set){.count = cpus * TASKS_PER_CPU};
    uunifast(&random, set->count, utilization * cpus, shares);
    for (int i = 0; i < set->count; i++) {
        struct task *task = &set->task[i];
        task->period = llround(1000 * pow(1000, random_unit(&random)));
        task->deadline = task->period;
        task->runtime = (int64_t)fmax(2, floor(shares[i] * (double)task->period));
        if (constrained)
            task->deadline = llround((double)task->period * (1 + random_unit(&random)) / 2);
        if (task->deadline < task->runtime)
            task->deadline = task->runtime;
    }
}

static void try_batch(uint64_t number, double utilization, bool constrained,
                      uint64_t admitted[COLUMNS])
{
    static struct task_set set[COLUMNS][BATCH];
    for (int i = 0; i < COLUMNS; i++) {
        for (int j = 0; j < BATCH; j++) {
            draw(&set[i][j], number + (uint64_t)j, columns[i].cpus, utilization, constrained);
            plugin_ask_set(&columns[i].plugin, &set[i][j]);
        }
        plugin_flush(&columns[i].plugin);
    }
    for (int i = 0; i < COLUMNS; i++)
        for (int j = 0; j < BATCH; j++)
            admitted[i] += plugin_hear_set(&columns[i].plugin, &set[i][j]) == NULL;
}

static void print_row(int thousandths, bool constrained)
{
    uint64_t admitted[COLUMNS] = {0};
    for (uint64_t number = 0; number < SETS; number += BATCH)
        try_batch(number + (uint64_t)thousandths * SETS, thousandths / 1000.0, constrained,
                  admitted);
    printf("%.3f", thousandths / 1000.0);
    for (int i = 0; i < COLUMNS; i++)
        printf(" %.4f", (double)admitted[i] / SETS);
    putchar('\n');
}

static void print_block(const char *name, bool constrained)
{
    printf("# %s deadlines, %d sets for each row\nutilization", name, SETS);
    for (int i = 0; i < COLUMNS; i++)
        printf(" %s", columns[i].name);
    putchar('\n');
    for (int thousandths = FROM; thousandths <= TO; thousandths += STEP)
        print_row(thousandths, constrained);
    printf("\n\n");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        errx(EX_USAGE, "usage: acceptance PLUGINS");
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < COLUMNS; i++)
        plugin_start(&columns[i].plugin, argv[1], columns[i].program, columns[i].words);
    print_block("implicit", false);
    print_block("constrained", true);
    for (int i = 0; i < COLUMNS; i++)
        plugin_stop(&columns[i].plugin);
    return EXIT_SUCCESS;
}
