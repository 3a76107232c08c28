/* What all benchmarks share. Each starts its own broker on its own spool, as root, and measures as ordinary users. */
#ifndef RTF_BENCH_H
#define RTF_BENCH_H

#include <jansson.h>
#include <stdbool.h>

enum { USER = 20017, FILLER = 20018, CROWD = 31000, CROWD_USERS = 50, GROUP = 20000 };

struct bench {
    const char *build, *where; /* where rtf was built; the directory for spools */
    const char *only;          /* headings must have this in them */
    int rounds;
    bool quick;
    const char *json_file; /* where the figures are put, too; or NULL */
    json_t *results;       /* one object for each heading */
};

bool is_wanted(const struct bench *bench, const char *heading);
void bench_keep(const struct bench *some, json_t *figures); /* writes all so far, takes over `figures` */
void must_succeed(int status); /* of a child that measured */

/* Each operation against the floor, for each plugin, pinned and not. */
void bench_operations(struct bench *bench);

/* Each operation among many reservations against the same among none; how fast those came, what they take, how long a restart
 * does. */
void bench_flat(struct bench *bench);

/* What a scheduling domain costs: the kernel's own work against it with all around. */
void bench_domain(struct bench *bench);

/* Whole programs; many clients at once; nothing to do. */
void bench_others(struct bench *bench);

#endif
