/* All benchmarks share this. Each starts its own broker on its own spool, as root, and measures as
 * ordinary users. */
#ifndef RTF_BENCH_H
#define RTF_BENCH_H

#include <jansson.h>
#include <stdbool.h>

enum { USER = 20017, FILLER = 20018, CROWD = 31000, CROWD_USERS = 50, GROUP = 20000 };

struct bench {
    const char *build, *where; /* where rtf was built; the directory for spools */
    const char *only;          /* only runs with this text in their heading */
    int rounds;
    bool quick;
    const char *json_file; /* a file that also gets the figures; or NULL */
    json_t *results;       /* one object for each heading */
};

bool is_wanted(const struct bench *bench, const char *heading);
/* writes all figures so far, and takes `figures` over */
void bench_keep(const struct bench *some, json_t *figures);
void must_succeed(int status); /* ends the benchmark unless a child that measured has succeeded */

/* Measures each operation against the floor, for each plugin, pinned and not. */
void bench_operations(struct bench *bench);

/* Each operation among many reservations against the same operation among none; how fast many specs
 * are answered, how much memory they take, and how long a restart takes. */
void bench_flat(struct bench *bench);

/* The cost of a scheduling domain: the kernel's own work against the whole operation of rtf. */
void bench_domain(struct bench *bench);

/* Measures whole programs, many clients at once, and an idle broker. */
void bench_others(struct bench *bench);

#endif
