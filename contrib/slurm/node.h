/* Reservations in the spool of this node, for a task of a Slurm step. The callers run as the user
 * of the job. */
#ifndef RTF_SLURM_NODE_H
#define RTF_SLURM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "rtf.h"
#include "name.h"
#include "request.h"

enum { NODE_WHY = 512, NODE_SPOOL = 4096 };

struct node_reservation {
    struct rtf_connection connection;
    struct rtf_spec spec;
    char why[NODE_WHY]; /* one sentence after a failure */
};

/* Writes the name of the reservation of a task. */
void node_name(char name[static NAME_BYTES], uint32_t job, uint32_t step, uint32_t rank);

/* Replaces each %n of the pattern by the name of the node. False: the path is too long, or the
 * pattern needs the name and `node` is NULL. */
bool node_spool(char path[static NODE_SPOOL], const char *pattern, const char *node);

/* Connects to the broker of this spool; NULL: of the usual spool. */
bool node_connect(struct node_reservation *reservation, const char *spool);

/* Reserves for the calling thread. False: `why` has the broker's sentence. */
bool node_reserve(struct node_reservation *reservation, const char *name,
                  const struct request *request);

/* Takes over the reservation of this name from its holder (rtf-slurm-hold.c) for the calling
 * thread. RTF_GONE: there is no such reservation. */
enum rtf_result node_take_over(struct node_reservation *reservation, const char *name);

/* Closes the connection to the broker. The reservation stays, and ends with the thread. */
void node_leave(struct node_reservation *reservation);

#endif
