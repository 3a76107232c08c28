/* What is behind the handles of rtf.h. */
#ifndef RTF_OWN_H
#define RTF_OWN_H

#include <pthread.h>
#include <stdatomic.h>

#include "client.h"
#include "rtf.h"

enum { OWN_PLUGIN = 33, OWN_CPUS = 128, OWN_CODE = 32 };

struct own_params {
    uint64_t runtime, desired_runtime, period, deadline, expires;
    unsigned priority;
    bool ignore_admission, lasting, waits;
    char plugin[OWN_PLUGIN], cpus[OWN_CPUS], name[CLIENT_NAME_MAX + 1];
};
_Static_assert(sizeof(struct own_params) <= sizeof(struct rtf_params), "parameters outgrow what programs were compiled with");

/* Watches that no call waits with at the moment. */
enum { SPARE = 64 };

struct rtf_connection_own {
    pthread_mutex_t list;  /* of specs; whoever has it may take a spec's lock */
    pthread_mutex_t lock;  /* of the rest, taken last; but for the descriptors of client, whose numbers do not change */
    struct client client;  /* without a `why` of its own: calls work on copies */
    char *spool;
    char why[CLIENT_WHY];
    uint64_t timeout;
    bool blocking;
    pid_t process;         /* for the names of specs, whose numbers are */
    unsigned made;
    uint64_t token;        /* the next one: from a random one on */
    unsigned calls;        /* that wait at the moment */
    struct client_watch spare[SPARE];
    int spares;
    int poll, events;      /* of rtf_fd; -1 until that is asked for */
    struct rtf_spec_own *specs;
};

/* What the last call was to bring about. */
enum own_request { OWN_NOTHING, OWN_CREATE, OWN_CHANGE, OWN_ATTACH, OWN_DETACH };

struct rtf_spec_own {
    struct rtf_connection_own *connection;
    struct rtf_spec *handle;
    struct rtf_spec_own *next, *before;
    pthread_mutex_t lock; /* of the rest */
    enum own_request request;
    char name[CLIENT_NAME_MAX + 1], token[CLIENT_TOKEN];
    ino_t inode;      /* 0: there is no file of ours */
    pid_t awaited;    /* the thread that is to be attached */
    bool has_key;     /* its thread came with the key "attach", not with NAME.tid */
    bool lasting;
    _Atomic(char *) unread; /* the answer, if nobody has asked yet what it says; NULL: what follows says it */
    enum rtf_result result;
    char reason[CLIENT_WHY], code[OWN_CODE];
    uint64_t nearest;
    bool granted, attached;
    _Atomic uint64_t accepted_runtime, period;
    uint64_t deadline;
    char plugin[OWN_PLUGIN], policy[16], cpus[CLIENT_WHY];
    pid_t thread;
    int64_t activation; /* ns */
    uint64_t missed;
};

/* A copy to work with, connected to the broker that runs now; with CLIENT_OK give it back with own_return. */
enum client_outcome own_take(struct rtf_connection_own *connection, struct client *client, int64_t until);
/* The same without a look whether that one still runs, which costs a system call: the wait for an answer finds it. */
enum client_outcome own_take_at_once(struct rtf_connection_own *connection, struct client *client);
/* After a request that failed: whether the directory had been removed or moved, and is there again. */
bool own_enter_again(struct rtf_connection_own *connection, struct client *client);
void own_return(struct rtf_connection_own *connection, struct client *client);

/* A token that no other request has. */
void own_make_token(struct rtf_connection_own *connection, char token[static CLIENT_TOKEN]);

/* Into the list of the connection's specs, and out of it. */
void own_enlist(struct rtf_spec_own *spec);
void own_strike(struct rtf_spec_own *spec);

/* Parameters as they were stored. */
struct own_params own_params(const struct rtf_params *params);

/* What has become of the request of the spec, if that has been answered; else RTF_PENDING. With the spec's lock. */
enum rtf_result own_look(struct rtf_spec_own *spec, struct client *client);

/* The answer is read, if it has not been. */
void own_read(struct rtf_spec_own *spec);

/* Without a thread, and not meant to last: it ends with the connection. */
void own_end(struct rtf_spec_own *spec, struct client *client);

#endif
