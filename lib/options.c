#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program; /* NULL: not while options are parsed */
static int status_unwritten;

/* argp calls exit once it has printed. */
static void check_output(void)
{
    if (program == NULL || (fflush(stdout) == 0 && !ferror(stdout)))
        return;
    fprintf(stderr, "%s: write error: %s\n", program, strerror(errno));
    _exit(status_unwritten);
}

error_t parse_options(const struct argp *argp, int argc, char **argv, unsigned flags, void *input, int usage, int unwritten)
{
    const char *slash = strrchr(argv[0], '/');
    argp_err_exit_status = usage;
    status_unwritten = unwritten;
    if (atexit(check_output) == 0)
        program = slash == NULL ? argv[0] : slash + 1;
    const error_t error = argp_parse(argp, argc, argv, flags, NULL, input);
    program = NULL;
    return error;
}
