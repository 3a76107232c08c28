/* The state of rtf-every(1), which its files share. */
#ifndef RTF_EVERY_H
#define RTF_EVERY_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "client.h"
#include "needs.h"

/* The lease of the spec, us. If rtf-every is killed, the reservation of a command ends after this
 * time. The reservation of a loop has no lease, and ends with the loop. */
enum { LEASE = 60000000 };

enum { EXIT_OURS = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

struct every_options {
    struct needs needs;
    /* `needs` as a JSON spec; make_spec adds the keys for a thread or a lease */
    json_t *spec;
    uint64_t runtime, period, deadline; /* the times of the spec, us; 0: not stated */
    /* timeout: us, for each answer; count: activations, 0: no limit */
    uint64_t timeout, count;
    /* no activation begins from this time on, CLOCK_MONOTONIC, us; 0: not stated */
    int64_t until;
    const char *name; /* NULL: every-PID */
    bool loop, errexit, verbose, json;
    char **command;
};

/* The counts that rtf-every prints when it ends. */
struct every_tally {
    uint64_t activations, missed, skipped, failed;
    uint64_t longer; /* runs of a command that took longer than a period */
    uint64_t late;   /* runs of a command that missed their deadline because they began late */
    /* us: the longest time from an activation to the end of its run; in a loop: the largest
     * lateness of an activation */
    int64_t worst;
};

struct every {
    struct every_options options;
    struct every_tally tally;
    struct client client;
    char name[CLIENT_NAME_MAX + 1], token[CLIENT_TOKEN]; /* the name and the token of the spec */
    ino_t inode; /* the inode of NAME.json; 0: there is no such file */
    int64_t
        renewed; /* when the lease was renewed last, CLOCK_MONOTONIC, us; 0: there is no lease */
    sigset_t inherited; /* the signal mask of rtf-every at its start */
    int signals;        /* a signalfd(2) */
    int ended_by;       /* the signal that ends rtf-every; 0: none has come */
};
extern struct every every;

/* CLOCK_MONOTONIC, us. */
int64_t every_now(void);

/* True if another activation may follow. */
bool every_may_go_on(void);

#endif
