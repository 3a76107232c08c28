/* A new spec of the user's own goes into the spool and is answered, or is taken back: what rtf declare and rtf adopt do in the end. */
#ifndef RTF_DECLARE_H
#define RTF_DECLARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct declaration {
    const char *name;
    json_t *spec;     /* borrowed */
    uint64_t timeout; /* us */
    bool keep;        /* leave it in the spool if it is refused */
    bool no_wait;
    bool json;    /* print the answer */
    bool verbose; /* say what is granted */
};

/* Returns the exit status of the command. */
int declare(const struct declaration *declaration);

#endif
