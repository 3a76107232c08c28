/* The clients: processes of users that get events. Each client has a socket, on which rtf-watch
 * never waits. */
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
    uint64_t id; /* the number by which the broker knows the client */
    uid_t uid;
    struct scrub scrub;
    int64_t begin;     /* ns, CLOCK_MONOTONIC: earlier events do not leave */
    uint64_t *dropped; /* batch.dropped as it was at the beginning of the client's recording */
    bool causes;       /* the user asks for causes */
    uint64_t began;    /* clock ticks since boot (lib/thread.h) */
    struct {
        pid_t thread, other;
        bool is;
        /* the pairs that the present batch has asked about; thread 0: this place is free */
    } relatives[CLIENT_RELATIVES];
    bool ends; /* WATCH_END is sent, or is in `unsent` */
    struct datagram *unsent, **last;
    size_t unsent_bytes;
};

/* The client takes over the threads of `scrub`. The struct must stay at its address. */
void client_open(struct client *client, int socket, uid_t uid, struct scrub scrub);

/* The user asks for causes. cpus: higher than the number of each CPU. */
void client_ask_causes(struct client *client, unsigned cpus);
void client_close(struct client *client);

/* Each function queues one or more datagrams. */
void client_refuse(struct client *client, int status, const char *sentence);
void client_begin(struct client *client, int64_t time, const struct batch *batch, unsigned cpus,
                  bool knows_timers, unsigned causes);
void client_end(struct client *client, int64_t time, const struct batch *batch, unsigned cpus);

/* Queues the part of the batch that the user may see. First checks the identity of each thread. If
 * the id no longer belongs to the thread, or the thread has rights of another user, no record of
 * this thread is queued. The exception is a thread whose end is in the batch: its records up to
 * this end are queued. */
void client_pass_on(struct client *client, const struct batch *batch);

/* Sends as many datagrams as the socket takes now. False: the user's process has ended, or does not
 * read. */
bool client_send(struct client *client);

#endif
