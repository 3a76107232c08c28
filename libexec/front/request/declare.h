/* Puts a new spec into the spool, waits for the answer, and removes a refused spec. rtf declare and
 * rtf adopt use this function. */
#ifndef RTF_DECLARE_H
#define RTF_DECLARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct declaration {
    const char *name;
    json_t *spec;     /* borrowed */
    uint64_t timeout; /* us */
    bool keep;        /* leave a refused spec in the spool */
    bool no_wait;
    bool json;    /* print the answer */
    bool verbose; /* say what is granted */
};

/* Returns the exit status of the command. If a spec of that name exists already, the process ends
 * with EX_CANTCREAT. */
int declare(const struct declaration *declaration);

#endif
