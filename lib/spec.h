/* What a user asks for (rtf-spec(5)): read from the text of NAME.json (spec-parse.h), and told by one program to another as lines of a paragraph
 * (spec-lines.c). The lines may be a user's, too: who reads them checks all that the text was checked for. Times are microseconds, 0 is "not stated". */
#ifndef RTF_SPEC_H
#define RTF_SPEC_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fault.h"
#include "name.h"
#include "paragraph.h"
#include "resource.h"

enum { IMPORTANCE_MAX = 100, WEIGHT_MAX = 100 };
enum { TID_MAX = 4194304 /* PID_MAX_LIMIT of the kernel */, MODES_MAX = 8, MODE_BYTES = 32, TOKEN_BYTES = 65, SPEC_BYTES_MAX = 64 * 1024 };

/* Of several, the one that is on. */
struct mode {
    char name[MODE_BYTES];
    uint64_t runtime;       /* where another mode needs more, which the spec's is; 0: that is it */
    uint64_t runtime_least; /* of all modes; 0: that is the spec's */
};

struct spec {
    uint64_t runtime, desired_runtime, period, deadline;
    struct mode *mode; /* NULL: there are none */
    cpu_set_t *cpus;   /* it may have these only; NULL: any */
    uint64_t expires; /* it ends so long after it was last written, or touched; 0: it does not */
    int priority; /* 1..99 */
    int importance, weight; /* of what it would rather have beyond what it needs: who comes first, and in which proportion; 0: not stated */
    pid_t attach;
    bool ignore_admission, lifetime_thread;
    bool attach_none, lifetime_spec; /* it says so: "attach": null, "lifetime": "spec"; what it does not say a thread that is attached keeps */
    bool attach_kept;                /* of a grant: a spec before has said so */
    bool move_process; /* its whole process may be moved into a domain */
    bool waits;        /* refused for want of room, it is asked again when there may be some */
    bool dry_run;      /* to be answered, and nothing else */
    char *plugin, *token; /* or NULL; in a grant both are NULL, */
    struct claim *claims; /* and so are these, on other resources than CPU time: in their order */
};

void spec_free(struct spec *spec);

/* What a grant keeps of it: without plugin, token and claims. spec_free as above. */
struct spec spec_copy(const struct spec *spec);

/* Instead of what it had; the spec has a copy. CPUs as in taskset -c, "0-3,6": false on anything else. */
bool spec_take_cpus(struct spec *spec, const char *list);
void spec_take_mode(struct spec *spec, const struct mode *mode);

/* What follows from the definitions of Q, Qd, D and T, and of a dry run, whatever plugin is asked. NULL, or the key that is wrong beside the others,
 * and why. */
const char *spec_relations(const struct spec *spec, char why[static REASON_BYTES]);

/* As lines of a paragraph (spec-lines.c), without plugin and token where they are NULL; and back, with what the text was checked for checked again:
 * false when it is no spec that spec_parse can have returned. spec_free as above. */
void spec_add(struct paragraph_output *output, const struct spec *spec);
bool spec_get(const struct paragraph *paragraph, struct spec *spec);

/* Of these lines the mode alone; to be taken after the runtime. */
void spec_add_mode(struct paragraph_output *output, const struct spec *spec);
bool spec_get_mode(const struct paragraph *paragraph, struct spec *spec);

/* Does it ask for CPU time? One that claims something else need not. */
bool spec_claims_cpu(const struct spec *spec);

/* Of all its modes. */
uint64_t spec_least_runtime(const struct spec *spec);

/* What its weight is where it does not say so. */
int spec_weight(const struct spec *spec);

/* The window over which a reservation's runtime is spread: min(T, D) of those stated; 0 if neither is. */
uint64_t spec_window(const struct spec *spec);

#endif
