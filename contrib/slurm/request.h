/* Reads the value of srun's option --rtf. */
#ifndef RTF_SLURM_REQUEST_H
#define RTF_SLURM_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "name.h"

enum { REQUEST_WHY = 256 };

/* us; 0: not stated */
struct request {
    uint64_t runtime, period, deadline, desired;
    unsigned priority;
    char plugin[PLUGIN_NAME_BYTES]; /* "": any plugin */
};

/* RUNTIME/PERIOD[/DEADLINE][,plugin=NAME][,priority=N][,desired=TIME], as in "2ms/20ms,plugin=RM".
 * False: `why` has a sentence. */
bool request_parse(const char *text, struct request *request, char why[static REQUEST_WHY]);

#endif
