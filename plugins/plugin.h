/* The code that all plugins share. It reads the words of the plugin's line in plugins.conf(5),
 * writes the greeting, reads requests, and writes answers. rtf-plugin(7) documents the protocol. */
#ifndef RTF_PLUGIN_H
#define RTF_PLUGIN_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paragraph.h"
#include "units.h"

#define THRESHOLD_UNSET UINT64_MAX

/* The values of the words that every plugin takes, and values for the greeting. */
struct config {
    cpu_set_t cpus;
    /* the range of POSIX priorities, within 1 to 99; both 0: a deadline plugin (priority=-) */
    int low, high;
    uint64_t threshold; /* billionths of a CPU, or THRESHOLD_UNSET */
    /* for the greeting: the word for what an answer ok proves; setup may change this */
    const char *tests;
    /* for the greeting: the plugin can refuse another plugin's task (op=load) */
    bool judges;
    bool tested; /* for the greeting: every granted task states a runtime and was tested */
};

enum { WORD_VALUES = 4 };

/* A word KEY=VALUE that only one plugin has. There are three kinds. With `choice`, *choice becomes
 * the index of VALUE in `values`. With `time`, *time becomes a time from 0us to `most`. With
 * `take`, this function parses VALUE. If the line of the plugin does not have the word, the
 * variable stays unchanged. */
struct word {
    const char *key;
    const char *values[WORD_VALUES];
    int *choice;
    uint64_t *time, most;
    /* NULL: VALUE is taken; else a sentence with the allowed values */
    const char *(*take)(const char *value);
};

enum policy { POLICY_UNKNOWN, POLICY_DEADLINE, POLICY_FIFO, POLICY_RR };

/* A request of the broker. Times are us. A value that the request does not state is 0, but
 * max_runtime is TIME_MAX. */
struct request {
    uint64_t task;
    /* a number that stands for the user: all tasks of one user have the same number */
    uint64_t owner;
    uint64_t runtime, period, deadline, desired_runtime, accepted_runtime;
    uint64_t blocking; /* how long threads of lower rank delay one job */
    uint64_t max_runtime;
    uint64_t bytes; /* a claim on a network or disk: bytes per period */
    uint64_t block; /* a claim on a disk: bytes per block */
    uint64_t priority, requested_priority;
    uint64_t hrtick; /* 1: a timer of the kernel ends the runtimes of SCHED_DEADLINE threads */
    enum policy policy;
    bool ignore_admission, commit, has_cpus;
    cpu_set_t cpus;
};

/* The functions of a plugin that handle requests. A handler returns NULL, or a sentence about a
 * fault: the broker should never have sent such a request. After a fault the plugin ends, because
 * the plugin's record of its tasks no longer agrees with the broker's record. accept and judge
 * write the lines of their answer; schedule and release write only update paragraphs. */
struct plugin {
    const struct word *words;                    /* ends with key NULL; NULL: no words */
    const char *(*setup)(struct config *config); /* NULL, or the reason not to start */
    const char *(*accept)(const struct request *request, struct paragraph_output *out);
    const char *(*schedule)(const struct request *request, struct paragraph_output *out);
    const char *(*release)(const struct request *request, struct paragraph_output *out);
    const char *(*load)(const struct request *request);
    /* handles op=load with commit=if-ok */
    const char *(*judge)(const struct request *request, struct paragraph_output *out);
    bool without_cpus; /* the plugin is for another resource than CPU time: cpus= is empty */
};

/* Parses the value of a word that is a time; 0us is allowed. */
bool parse_time_or_none(const char *text, uint64_t *time);

/* Runs a plugin. Returns the exit status. */
int plugin_main(int argc, char **argv, const struct plugin *plugin);

/* Writes answer=no and the reason. */
void answer_no(struct paragraph_output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Like answer_no, with retry=never: the answer stays the same when other tasks end. */
void answer_never(struct paragraph_output *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the lines of a plan. Period and deadline are those of the request; if the request states
 * no deadline, the deadline is the period. If accepted_runtime or priority is 0, its line is left
 * out. */
void answer_plan(struct paragraph_output *out, const struct request *request, const char *cpus,
                 const char *policy, int priority, uint64_t accepted_runtime);

/* Refuses a runtime above `ceiling` (us), which is the access rules' limit, or else the smaller of
 * period and deadline. */
void answer_above(struct paragraph_output *out, const struct request *request, uint64_t ceiling);

/* answer_nearest writes the line nearest=, and answer_nearest_minimum the line nearest_minimum=. If
 * runtime is 0, they write nothing. */
void answer_nearest(struct paragraph_output *out, uint64_t runtime);
void answer_nearest_minimum(struct paragraph_output *out, uint64_t runtime);

/* Returns zeroed memory, or ends the program: the broker then restarts the plugin and sends it all
 * tasks again. */
void *plugin_allocate(size_t count, size_t size);
_Noreturn void plugin_out_of_memory(void);

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
