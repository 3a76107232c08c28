/* Parses the options of rtf-run(1), and makes the spec that they state. */
#ifndef RTF_RUN_OPTIONS_H
#define RTF_RUN_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "needs.h"

enum { EXIT_OURS = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };
/* The time at which rtf-run attaches a thread of the command. */
enum when { AT_START, AT_READY, AT_TIME, AT_THREAD };

/* Until a thread is attached, the reservation has a lease (the key "expires"), so that it ends if
 * rtf-run is killed. */
enum { LEASE = 30000000 }; /* us */

struct options {
    struct needs needs;
    /* the spec, without the keys that say which thread is attached, and when */
    json_t *spec;
    const char *file;                         /* the argument of -f; NULL: none */
    uint64_t timeout, attach_after, wait_for; /* us; wait_for 0: no limit */
    /* name: the name of the spec; NULL: run-PID. thread: the pattern of --attach=thread:NAME */
    const char *name, *thread;
    enum when when;
    bool dry_run, fallback, verbose, says_when, replace, waits, learns, adapts;
    bool by_rules; /* the spec has rules for threads (needs-rules.h) */
    char **command;
};

/* Fills in the options, which have their default values, and options->spec. If the options are
 * wrong, prints a message and exits. */
void run_options_parse(struct options *options, int argc, char **argv);

/* Returns the spec as one line, which the caller frees. NULL: no memory. thread 0: there is no
 * thread to attach yet. */
char *run_options_make_spec(const struct options *options, const char *token, pid_t thread);

#endif
