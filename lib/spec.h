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

/* The current mode of a spec that has several modes. */
struct mode {
    char name[MODE_BYTES];
    /* the runtime of this mode; 0: the same as spec.runtime, which is the maximum over all modes */
    uint64_t runtime;
    uint64_t runtime_least; /* the minimum runtime over all modes; 0: the same as spec.runtime */
};

struct spec {
    uint64_t runtime, desired_runtime, period, deadline;
    uint64_t blocking; /* us: how long threads of lower rank delay one job; 0: not stated */
    struct mode *mode; /* NULL: no modes */
    cpu_set_t *cpus;   /* the allowed CPUs; NULL: any */
    uint64_t expires;  /* us after the last write or touch; 0: the spec does not expire */
    int priority;      /* 1..99 */
    /* these two divide spare capacity: reservations with a larger importance get spare capacity
     * first; with equal importance, they get it in proportion to their weights; 0: not stated */
    int importance, weight;
    struct extras extras; /* what the attached thread gets in addition to CPU time */
    pid_t attach;
    /* only in the text: the inode of the thread's pidfd; stated if `attach` may be a number in
     * another pid namespace. Then the reader sets `attach` to the number in the reader's
     * namespace */
    uint64_t attach_inode;
    pid_t attach_unseen; /* the number of a thread that the reader cannot find; 0: none */
    bool ignore_admission, lifetime_thread;
    /* only under SCHED_DEADLINE: reclaim: the thread also gets CPU time that nobody has reserved;
     * overrun_signal: the kernel sends SIGXCPU at an overrun */
    bool reclaim, overrun_signal;
    /* attach_none: the spec states "attach": null. lifetime_spec: the spec states "lifetime":
     * "spec". If a changed spec does not state one of these keys, the value of the earlier spec
     * stays in force for a thread that is attached */
    bool attach_none, lifetime_spec;
    /* only in a grant; true: the thread that an earlier spec has named stays attached */
    bool attach_kept;
    bool budget_process;  /* the runtime is for all threads of the process together */
    bool move_process;    /* the whole process may be moved into a scheduling domain */
    bool waits;           /* if refused for lack of capacity, the request waits */
    bool dry_run;         /* only answer; reserve nothing */
    char *plugin, *token; /* NULL: not stated; both are NULL in a grant */
    /* claims on resources other than CPU time, in the order of enum resource; NULL in a grant */
    struct claim *claims;
};

void spec_free(struct spec *spec);

/* Returns a copy for a grant, without plugin, token and claims. Free it with spec_free. */
struct spec spec_copy(const struct spec *spec);

/* Replace the CPUs or the mode by a copy of the argument. list: "0-3,6", as for taskset -c. False:
 * the list has another form. */
bool spec_take_cpus(struct spec *spec, const char *list);
void spec_take_mode(struct spec *spec, const struct mode *mode);

/* Checks the relations between runtime, desired runtime, deadline and period (Q, Qd, D, T), and
 * between the keys of a dry run. These relations must hold for every plugin. NULL: valid; else the
 * wrong key, and *why says what is wrong. */
const char *spec_relations(const struct spec *spec, char why[static REASON_BYTES]);

/* spec_add writes the spec as lines of a paragraph (spec-lines.c), without plugin and token if they
 * are NULL. spec_get reads such lines and repeats all checks of the text. False: the lines describe
 * a spec that spec_parse never returns. Call spec_free in any case. */
void spec_add(struct paragraph_output *output, const struct spec *spec);
bool spec_get(const struct paragraph *paragraph, struct spec *spec);

/* spec_add_mode writes the lines of the mode, and spec_get_mode reads them. Read the runtime before
 * the mode, because spec_get_mode compares both. */
void spec_add_mode(struct paragraph_output *output, const struct spec *spec);
bool spec_get_mode(const struct paragraph *paragraph, struct spec *spec);

/* True if the spec asks for CPU time. A spec with claims on other resources or with extras may ask
 * for no CPU time. */
bool spec_claims_cpu(const struct spec *spec);

/* Returns the minimum runtime over all modes. */
uint64_t spec_least_runtime(const struct spec *spec);

/* Returns the weight; 1, the default, if the spec states none. */
int spec_weight(const struct spec *spec);

/* Returns the window over which the runtime is spread: the smaller of period and deadline. If only
 * one of the two is stated, returns that one; 0: neither is stated. */
uint64_t spec_window(const struct spec *spec);

#endif
