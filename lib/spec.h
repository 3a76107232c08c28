/* A user's request (rtf-spec(5)). spec-parse.h makes it from the text of NAME.json; spec-lines.c
 * passes it from program to program as lines of a paragraph. A user may have forged these lines, so
 * their reader repeats all checks of the text. Times are microseconds; 0: not stated. */
#ifndef RTF_SPEC_H
#define RTF_SPEC_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "extras.h"
#include "reason.h"
#include "name.h"
#include "paragraph.h"
#include "resource.h"

enum { IMPORTANCE_MAX = 100, WEIGHT_MAX = 100 };
enum {
    TID_MAX = 4194304 /* PID_MAX_LIMIT of the kernel */,
    MODES_MAX = 8,
    MODE_BYTES = 32,
    TOKEN_BYTES = 65,
    SPEC_BYTES_MAX = 64 * 1024
};

/* The current mode of several. */
struct mode {
    char name[MODE_BYTES];
    /* this mode's runtime; 0: the same as spec.runtime, the maximum over modes */
    uint64_t runtime;
    uint64_t runtime_least; /* the minimum over modes; 0: the same as spec.runtime */
};

struct spec {
    uint64_t runtime, desired_runtime, period, deadline;
    struct mode *mode; /* NULL: no modes */
    cpu_set_t *cpus;   /* the allowed CPUs; NULL: any */
    uint64_t expires;  /* us after the last write or touch; 0: the spec does not expire */
    int priority;      /* 1..99 */
    /* for spare capacity beyond the needs: the order of reservations, and their proportions within
     * one importance; 0: not stated */
    int importance, weight;
    struct extras extras; /* for the attached thread beside CPU time */
    pid_t attach;
    /* of the text: the inode of the thread's pidfd, where the number alone may be another pid
     * namespace's; the reader translates both to a number here */
    uint64_t attach_inode;
    pid_t attach_unseen; /* the number of a thread that the reader cannot find; 0: none */
    bool ignore_admission, lifetime_thread;
    /* the spec states "attach": null, or "lifetime": "spec"; if it states neither, an attached
     * thread keeps what held before */
    bool attach_none, lifetime_spec;
    bool attach_kept;     /* of a grant: an earlier spec stated the thread */
    bool budget_process;  /* the runtime is for all threads of the process together */
    bool move_process;    /* the whole process may be moved into a scheduling domain */
    bool waits;           /* if refused for lack of capacity, the request waits */
    bool dry_run;         /* only answer; reserve nothing */
    char *plugin, *token; /* NULL: not stated; both are NULL in a grant */
    /* on resources other than CPU time, in the order of enum resource; NULL in a grant */
    struct claim *claims;
};

void spec_free(struct spec *spec);

/* A copy for a grant, without plugin, token and claims. Free it with spec_free. */
struct spec spec_copy(const struct spec *spec);

/* Replace CPUs or mode by a copy of the argument. list: as for taskset -c, "0-3,6"; false on
 * anything else. */
bool spec_take_cpus(struct spec *spec, const char *list);
void spec_take_mode(struct spec *spec, const struct mode *mode);

/* Checks the relations between runtime, desired runtime, deadline and period (Q, Qd, D, T), and
 * those of a dry run; they hold for every plugin. NULL: valid; else the wrong key, with the fault
 * in *why. */
const char *spec_relations(const struct spec *spec, char why[static REASON_BYTES]);

/* spec_add writes the spec as lines of a paragraph (spec-lines.c), without plugin and token if they
 * are NULL. spec_get reads such lines and repeats all checks of the text: false if spec_parse
 * cannot have returned this spec. Call spec_free in any case. */
void spec_add(struct paragraph_output *output, const struct spec *spec);
bool spec_get(const struct paragraph *paragraph, struct spec *spec);

/* Only the lines of the mode. Read the runtime before the mode. */
void spec_add_mode(struct paragraph_output *output, const struct spec *spec);
bool spec_get_mode(const struct paragraph *paragraph, struct spec *spec);

/* True if the spec asks for CPU time. A spec with claims on other resources or with extras need
 * not. */
bool spec_claims_cpu(const struct spec *spec);

/* The minimum runtime over all modes. */
uint64_t spec_least_runtime(const struct spec *spec);

/* The weight, with its default of 1. */
int spec_weight(const struct spec *spec);

/* The window over which the runtime is spread: min(T, D) of those stated; 0: neither is stated. */
uint64_t spec_window(const struct spec *spec);

#endif
