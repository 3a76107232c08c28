/* Runs an experiment on another machine, by ssh. The experiment is sent on the standard input of
 * ssh. Marks come back as datagrams while they are made. The report of the run comes back on the
 * standard output of ssh. Closing the standard input of ssh ends the run early. */
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
    int marks; /* the directory for marks */
    bool compat;
    int signal;  /* the signal that interrupted us; 0: none */
    bool heard;  /* marks have arrived */
    json_t *run; /* the returned report; NULL: none */
};

/* Called on this machine: runs the experiment on the other machine. Returns an exit status. After a
 * failure, `why` is a sentence that names the cause. */
int remote_run(struct remote *remote, char why[static REMOTE_WHY]);

/* Called on the other machine: reads the experiment's text, which the caller frees, and the secret
 * for its marks. NULL: the text and the secret did not arrive. */
char *remote_receive(size_t *length, uint64_t *secret);

/* Called on the other machine: finds the address of the ssh client, and adds the port for marks. */
bool remote_address(const char *port, struct sockaddr_storage *host, socklen_t *length);

#endif
