/* An experiment on another machine, by ssh: the experiment goes there on standard input, marks come back as datagrams as they are made, and
 * what the load program has to say of its run on standard output. The end of standard input ends it early. */
#ifndef RTF_MUSE_REMOTE_H
#define RTF_MUSE_REMOTE_H

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "experiment.h"

enum { REMOTE_WHY = 256 };

struct remote {
    const char *host, *command;
    const struct experiment *experiment;
    int marks; /* the directory for them */
    bool compat;
    int signal;  /* that interrupted us; 0: none */
    bool heard;  /* marks have come */
    json_t *run; /* what came back; NULL: nothing */
};

/* Here: an exit status. */
int remote_run(struct remote *remote, char why[static REMOTE_WHY]);

/* There: the experiment's text, to be freed, and the secret of its marks; NULL: they did not come. */
char *remote_receive(size_t *length, uint64_t *secret);

/* The port that the other side has passed, where ssh says that it is. */
bool remote_address(const char *port, struct sockaddr_storage *host, socklen_t *length);

#endif
