/* bench: the cost of a request, against the floor (floor.h), both measured in turn in the same run.
 * Needs root. */
#include <argp.h>
#include <err.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "bench.h"

static struct bench bench = {.build = "build", .where = "/dev/shm", .only = "", .rounds = 2000};

bool is_wanted(const struct bench *some, const char *heading)
{
    return strstr(heading, some->only) != NULL;
}

/* Writes the figures after each part, so that a run that ends early keeps them. */
void bench_keep(const struct bench *some, json_t *figures)
{
    json_array_append_new(some->results, figures);
    if (some->json_file != NULL &&
        json_dump_file(some->results, some->json_file, JSON_INDENT(1)) != 0)
        errx(EX_CANTCREAT, "%s", some->json_file);
}

void must_succeed(int status)
{
    if (status != 0)
        errx(EX_SOFTWARE, "what measured ended early");
}

static error_t parse(int key, char *word, struct argp_state *state)
{
    switch (key) {
    case 'b': bench.build = word; return 0;
    case 'd': bench.where = word; return 0;
    case 'j': bench.json_file = word; return 0;
    case 'o': bench.only = word; return 0;
    case 'q':
        bench.quick = true;
        bench.rounds = 200;
        return 0;
    case 'r': bench.rounds = atoi(word); return 0;
    case ARGP_KEY_ARG: argp_usage(state); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

int main(int count, char **words)
{
    static const struct argp_option options[] = {
        {"build", 'b', "DIR", 0, "Where rtf was built (build)", 0},
        {"directory", 'd', "DIR", 0, "Where the spool is to be (/dev/shm)", 0},
        {"json", 'j', "FILE", 0, "Where the figures are put, too", 0},
        {"only", 'o', "TEXT", 0, "Only the runs in whose heading this is", 0},
        {"quick", 'q', NULL, 0, "In less than a minute", 0},
        {"rounds", 'r', "N", 0, "How often each operation is done (2000)", 0},
        {0},
    };
    static const struct argp argp = {
        options, parse, NULL, "Measures what requests cost, against the bare floor.",
        NULL,    NULL,  NULL};
    argp_parse(&argp, count, words, 0, NULL, NULL);
    bench.results = json_array();
    bench_operations(&bench);
    bench_flat(&bench);
    bench_others(&bench);
    bench_domain(&bench);
    json_decref(bench.results);
    return 0;
}
