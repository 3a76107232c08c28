/* rtf-partition(8): makes, removes and shows scheduling domains of single CPUs. The broker itself
 * makes the domains that plugins.conf needs, and also uses domains that were made with this
 * program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "cpuset-domains.h"
#include "options.h"
#include "run-directory.h"
#include "units.h"
#include "usage.h"

static int fail(int code, const char *sentence)
{
    fprintf(stderr, "rtf-partition: %s\n", sentence);
    return code;
}

static int setup(const char *list)
{
    char reason[DOMAINS_REASON];
    cpu_set_t cpus;
    if (!parse_cpus(list, &cpus))
        return fail(EX_USAGE, "setup needs a list of CPUs such as 2-3,6");
    return domains_make(&cpus, "rtf-partition", reason) ? EX_OK : fail(EX_UNAVAILABLE, reason);
}

static int restore(void)
{
    char reason[DOMAINS_REASON];
    return domains_drop(NULL, reason) ? EX_OK : fail(EX_UNAVAILABLE, reason);
}

static int change(char **words, int count)
{
    /* if this call fails, recording the change fails, too, and reports the error */
    const int held = run_directory_hold();
    const int code = count == 2 && strcmp(words[0], "setup") == 0 ? setup(words[1])
                     : count == 1 && strcmp(words[0], "restore") == 0
                         ? restore()
                         : fail(EX_USAGE, "give one of the commands setup CPUS, restore and show");
    run_directory_leave(held);
    return code;
}

static int show(void)
{
    char reason[DOMAINS_REASON];
    return domains_show(stdout, reason) || ferror(stdout) ? end_output("rtf-partition")
                                                          : fail(EX_UNAVAILABLE, reason);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    (void)argument;
    if (key != ARGP_KEY_ARGS)
        return key == ARGP_KEY_NO_ARGS ? (argp_usage(state), 0) : ARGP_ERR_UNKNOWN;
    *(int *)state->input = state->next;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {NULL,
                                     parse_option,
                                     "setup CPUS\nrestore\nshow",
                                     "Make, remove or show scheduling domains of single CPUs.",
                                     NULL,
                                     NULL,
                                     NULL};
    int first = 0;
    parse_options(&argp, argc, argv, 0, &first, EX_USAGE, EX_IOERR);
    char **words = argv + first;
    int count = argc - first;
    if (count == 1 && strcmp(words[0], "show") == 0)
        return show();
    if (geteuid() != 0)
        return fail(EX_NOPERM, "only root may change cpusets");
    return change(words, count);
}
