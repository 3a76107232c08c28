/* The processes of users that get events. Each has a socket, which never makes rtf-watch wait. */
#ifndef RTF_CLIENTS_H
#define RTF_CLIENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "batch.h"
#include "scrub.h"

enum { CLIENTS_MAX = 8, CLIENT_RELATIVES = 16 };

struct datagram;

struct client {
    int socket;  /* -1: there is no client */
    uint64_t id; /* by which the broker knows the client */
    uid_t uid;
    struct scrub scrub;
    int64_t begin;     /* ns, CLOCK_MONOTONIC: earlier events do not leave */
    uint64_t *dropped; /* of batch.dropped, at the beginning */
    bool causes;       /* the user asks for causes */
    uint64_t began;    /* clock ticks since boot (lib/thread.h) */
    struct {
        pid_t thread, other;
        bool is;
    } relatives[CLIENT_RELATIVES]; /* that the present batch has asked about; thread 0: free */
    bool ends;                     /* WATCH_END is sent, or is in `unsent` */
    struct datagram *unsent, **last;
    size_t unsent_bytes;
};

/* The scrub's threads become the client's. The client must not move. */
void client_open(struct client *client, int socket, uid_t uid, struct scrub scrub);

/* The user asks for causes. cpus: higher than the number of each CPU. */
void client_ask_causes(struct client *client, unsigned cpus);
void client_close(struct client *client);

/* Each function queues one or more datagrams. */
void client_refuse(struct client *client, int status, const char *sentence);
void client_begin(struct client *client, int64_t time, const struct batch *batch, unsigned cpus,
                  bool knows_timers, unsigned causes);
void client_end(struct client *client, int64_t time, const struct batch *batch, unsigned cpus);

/* Queues what the user may see of the batch. Before, the identity of each thread is checked: if the
 * id no longer belongs to the thread, or the thread has rights of another user, the batch has no
 * record of this thread, except records before its own end. */
void client_pass_on(struct client *client, const struct batch *batch);

/* Sends what the socket takes. False: the user's process has ended, or does not read. */
bool client_send(struct client *client);

#endif
