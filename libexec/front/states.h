/* What a reservation is now, for lists: what its verdict says, and whether the kernel shows it. */
#ifndef RTF_STATES_H
#define RTF_STATES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "thread.h"

enum state { ASKED, WAITING, REFUSED, DRY_RUN, GRANTED, PENDING, ATTACHED, DRIFTED, STATES };

/* What is granted, as far as the kernel shows it. */
struct shown_grant {
    bool is_known, has_runtime, has_cpus;
    enum policy policy;
    int priority;
    uint64_t runtime, period, deadline; /* us */
    cpu_set_t cpus;
};

const char *state_name(enum state state);

/* Whether the verdict is to the file that is there now. */
bool verdict_is_current(const json_t *verdict, const struct stat *spec);

/* verdict: NULL is none yet. */
enum state state_of(const json_t *verdict, bool is_current);

struct shown_grant grant_shown(const json_t *grant);

/* Does the kernel run the thread otherwise? One that is held to its runtime is ordinary while it has none left. */
bool has_drifted(const struct shown_grant *grant, pid_t tid);

#endif
