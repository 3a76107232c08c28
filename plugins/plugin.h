/* What the plugins have in common with the broker's side: the words they are started with, the
 * greeting, and the loop that reads requests and writes answers. rtf-plugin(7) is the contract. */
#ifndef RTF_PLUGIN_H
#define RTF_PLUGIN_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paragraph.h"
#include "units.h"

#define THRESHOLD_UNSET UINT64_MAX

/* The words that every plugin is given. */
struct config {
    cpu_set_t cpus;
    int low, high;      /* POSIX priorities; both 0 for "-", a deadline plugin's range */
    uint64_t threshold; /* billionths of a CPU, or THRESHOLD_UNSET */
    const char *tests;  /* for the greeting: what an ok proves; setup may change it */
    bool judges;        /* for the greeting: whether load is judged */
    bool tested;        /* for the greeting: every task that it grants states a runtime and was tested */
};

enum { WORD_VALUES = 4 };

/* A word of one plugin: KEY=VALUE with VALUE from a list, whose place *choice becomes; or, with `time`, a time
 * from 0us to `most`. What does not come stays as it is. */
struct word {
    const char *key;
    const char *values[WORD_VALUES];
    int *choice;
    uint64_t *time, most;
    const char *(*take)(const char *value); /* or what is neither: NULL, or what is allowed */
};

enum policy { POLICY_UNKNOWN, POLICY_DEADLINE, POLICY_FIFO, POLICY_RR };

/* Times in us. What was not stated is 0, except max_runtime: TIME_MAX. */
struct request {
    uint64_t task;
    uint64_t runtime, period, deadline, desired_runtime, accepted_runtime;
    uint64_t max_runtime;
    uint64_t bytes; /* of a claim on a network or disk, in each period */
    uint64_t block; /* bytes, of a claim on a disk */
    uint64_t priority, requested_priority;
    enum policy policy;
    bool ignore_admission, commit, has_cpus;
    cpu_set_t cpus;
};

/* Each handler returns NULL, or what is wrong with a request that the broker should never have sent; the
 * plugin then ends, for its books and the broker's no longer agree. accept and judge write the lines of their
 * answer; schedule and release write update paragraphs only. */
struct plugin {
    const struct word *words; /* ends with key NULL; NULL for none */
    const char *(*setup)(struct config *config); /* a reason not to start, or NULL */
    const char *(*accept)(const struct request *request, struct paragraph_output *out);
    const char *(*schedule)(const struct request *request, struct paragraph_output *out);
    const char *(*release)(const struct request *request, struct paragraph_output *out);
    const char *(*load)(const struct request *request);
    const char *(*judge)(const struct request *request, struct paragraph_output *out); /* load with commit=if-ok */
    bool without_cpus; /* another resource= than CPU time: cpus= is empty */
};

/* All of a plugin: returns the exit status. */
int plugin_main(int argc, char **argv, const struct plugin *plugin);

/* answer=no and the reason. */
void answer_no(struct paragraph_output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for what no other task's end can change: retry=never. */
void answer_never(struct paragraph_output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The lines of a plan. Periods and deadlines are as asked; a deadline not stated is the period.
 * accepted_runtime 0 and priority 0: none. */
void answer_plan(struct paragraph_output *out, const struct request *request, const char *cpus,
                 const char *policy, int priority, uint64_t accepted_runtime);

/* A runtime above `ceiling`: the access rules' limit, or else the smaller of period and deadline. */
void answer_above(struct paragraph_output *out, const struct request *request, uint64_t ceiling);

/* nearest=, when there is one. */
void answer_nearest(struct paragraph_output *out, uint64_t runtime);

/* Zeroed memory, or the end of the program: a plugin without its books is restarted from the broker's. */
void *plugin_allocate(size_t count, size_t size);
_Noreturn void plugin_out_of_memory(void);

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
