/* Makes, reads and changes the reservation of rtf-adapt(1). Each call opens the spool anew: a broker that
 * has ended and one that has started again are all the same. */
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
    bool is_granted, is_refused;       /* neither: there is no answer, for example no broker */
    struct adapted adapted;            /* after a grant */
    uint64_t nearest, nearest_minimum; /* after a refusal, us; 0: none */
    char sentence[CLIENT_WHY];         /* why the change is not granted */
};

/* Reads what is granted. The process ends with a message if there is no such reservation of a
 * thread with a runtime and a period. */
struct adapted adapt_read(const char *name, uint64_t timeout);

/* Asks for the runtime, and for the period (0: the period stays). If they are not granted, the
 * former spec is put back. */
struct adapt_answer adapt_change(const char *name, uint64_t runtime, uint64_t period,
                                 uint64_t timeout);

/* Makes the reservation. If the broker would only grant more runtime, or less and at least `least`,
 * takes that. A spec that is not granted is removed. If there is a spec of this name already,
 * changes the runtime and the period of that spec, which then no longer expires. The process ends
 * with a message if the user has no access to the spool. */
struct adapt_answer adapt_declare(const char *name, json_t *spec, uint64_t least, uint64_t timeout);

#endif
