/* Makes, reads and changes the reservation of rtf-adapt(1). Each call opens the spool again, so the
 * broker may end and start again between two calls. */
#ifndef RTF_ADAPT_CHANGE_H
#define RTF_ADAPT_CHANGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "client.h"

struct adapted {
    pid_t thread;             /* 0: none */
    uint64_t runtime, period; /* what is granted, us; 0: none */
};

struct adapt_answer {
    /* both false: no answer has come, for example because no broker runs */
    bool is_granted, is_refused;
    struct adapted adapted;            /* after a grant */
    uint64_t nearest, nearest_minimum; /* after a refusal, us; 0: none */
    char sentence[CLIENT_WHY];         /* why the change is not granted */
};

/* Reads what the reservation `name` grants. The process ends with a message if this reservation
 * does not exist, or lacks a thread, a runtime or a period. */
struct adapted adapt_read(const char *name, uint64_t timeout);

/* Asks the broker for another runtime, and for another period (0: the period stays). If the broker
 * does not grant the change, puts the former spec back. */
struct adapt_answer adapt_change(const char *name, uint64_t runtime, uint64_t period,
                                 uint64_t timeout);

/* Makes the reservation. If the broker refuses the runtime and offers another, asks for the offered
 * runtime; a shorter runtime must be at least `least`. A spec that is not granted is removed. If
 * there is a spec of this name already, changes the runtime and the period of that spec, and
 * removes its lease. The process ends with a message if the user has no access to the spool. */
struct adapt_answer adapt_declare(const char *name, json_t *spec, uint64_t least, uint64_t timeout);

#endif
