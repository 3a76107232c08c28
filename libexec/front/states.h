/* The state of a reservation, for lists: from its verdict, and from the kernel's attributes of its
 * thread. */
#ifndef RTF_STATES_H
#define RTF_STATES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "thread.h"

enum state { ASKED, WAITING, REFUSED, DRY_RUN, GRANTED, PENDING, ATTACHED, DRIFTED, STATES };

/* The part of a grant that can be compared with the kernel's attributes of a thread. */
struct shown_grant {
    bool is_known;    /* the verdict names a policy */
    bool has_runtime; /* the spec states a runtime */
    bool has_cpus;
    enum policy policy;
    int priority;
    uint64_t runtime, period, deadline; /* us */
    cpu_set_t cpus;
};

const char *state_name(enum state state);

/* True if the verdict answers the spec file in its present state. */
bool verdict_is_current(const json_t *verdict, const struct stat *spec);

/* Returns the state. verdict NULL: there is no answer yet. */
enum state state_of(const json_t *verdict, bool is_current);

struct shown_grant grant_shown(const json_t *grant);

/* True if the kernel runs the thread with other attributes than granted. The result is also false
 * for a thread that has used up its runtime, because such a thread is ordinary until its next
 * period. */
bool has_drifted(const struct shown_grant *grant, pid_t tid);

#endif
