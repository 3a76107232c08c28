/* -h, --help and --version of programs without other options, and a check that standard output was
 * written. The functions are in a header because these programs share no object file. */
#ifndef RTF_USAGE_H
#define RTF_USAGE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "version.h"

/* Returns the exit status: EX_OK, or EX_IOERR with a message if standard output could not be
 * written. */
static inline int end_output(const char *name)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EX_OK;
    fprintf(stderr, "%s: standard output cannot be written: %s\n", name, strerror(errno));
    return EX_IOERR;
}

/* If the first argument is --help or --version (or a short form), prints the text for this option,
 * sets *status to the exit status, and returns true. usage: the text after the program's name. */
static inline bool usage_asked(int argc, char **argv, const char *name, const char *usage,
                               int *status)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        printf("%s " RTF_VERSION "\n", name);
    else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0)
        printf("Usage: %s %s\n", name, usage);
    else
        return false;
    *status = end_output(name);
    return true;
}

#endif
