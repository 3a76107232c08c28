/* -h, --help and --version of a program without other options of its own. These programs share no object file, so it is a header. */
#ifndef RTF_USAGE_H
#define RTF_USAGE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "version.h"

/* Whether one of these is the first word. Then the answer is printed, and *status is what to end with. usage: what follows the program's name. */
static inline bool usage_asked(int argc, char **argv, const char *name, const char *usage, int *status)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        printf("%s " RTF_VERSION "\n", name);
    else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "-?") == 0)
        printf("Usage: %s %s\n", name, usage);
    else
        return false;
    *status = fflush(stdout) == 0 ? EX_OK : EX_IOERR;
    return true;
}

#endif
