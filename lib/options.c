#include "options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "version.h"

static const char *program; /* NULL: no options are being parsed */
static int status_unwritten;

/* Reports that the text of --help or --version could not be written. Runs at exit(3), which argp
 * calls after it has printed the text. */
static void check_output(void)
{
    if (program == NULL || (fflush(stdout) == 0 && !ferror(stdout)))
        return;
    fprintf(stderr, "%s: write error: %s\n", program, strerror(errno));
    _exit(status_unwritten);
}

/* argp knows only -? and --help. -h also means help, unless the program has an option -h. */
static bool means_help(const struct argp *argp, const char *word)
{
    for (const struct argp_option *option = argp->options;
         option != NULL && (option->name != NULL || option->key != 0 || option->doc != NULL);
         option++)
        if (option->key == 'h')
            return false;
    return word != NULL && strcmp(word, "-h") == 0;
}

error_t parse_options(const struct argp *argp, int argc, char **argv, unsigned flags, void *input,
                      int usage, int unwritten)
{
    static char help[] = "--help", version[64];
    const char *slash = strrchr(argv[0], '/');
    argp_err_exit_status = usage;
    status_unwritten = unwritten;
    if (atexit(check_output) == 0)
        program = slash == NULL ? argv[0] : slash + 1;
    if (argp_program_version == NULL) {
        snprintf(version, sizeof version, "%s " RTF_VERSION, slash == NULL ? argv[0] : slash + 1);
        argp_program_version = version;
    }
    if (argc > 1 && means_help(argp, argv[1]))
        argv[1] = help;
    const error_t error = argp_parse(argp, argc, argv, flags, NULL, input);
    program = NULL;
    return error;
}
