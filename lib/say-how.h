/* -h, --help and --version of a program without other options of its own. Here and not in a file of its own, for those programs share nothing else. */
#ifndef RTF_SAY_HOW_H
#define RTF_SAY_HOW_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "version.h"

/* Whether one of these is the first word. Then it is answered, and *status is what to end with. usage: what follows the program's name. */
static inline bool says_how(int argc, char **argv, const char *name, const char *usage, int *status)
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
