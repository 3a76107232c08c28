/* A request of a command's to the broker: a spec of the user's own goes into the spool, and the answer is waited for. Whatever fails outside of a single
 * reservation ends the command with its sentence. What fails with a reservation is in `sentence`, for command_say, with the exit status for it. */
#ifndef RTF_REQUEST_H
#define RTF_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "client.h"
#include "held-signals.h"

#define REQUEST_TIMEOUT UINT64_C(30000000) /* us: a broker answers within milliseconds */

struct request {
    struct client client;
    uint64_t timeout; /* us, of each wait */
    bool is_entered;  /* false: the user has no directory */
    bool is_connected;
    int lock; /* of the spec that was read, or changed (spec-lock.h); -1: none */
    struct held_signals signals; /* .fd = -1: none is held */
    /* The spec that the last put or change has made. */
    const char *name;
    char token[CLIENT_TOKEN];
    ino_t inode; /* 0: none */
    /* The answer to it. */
    struct client_verdict verdict; /* .text NULL: there is none */
    int status;                    /* of the command: 0 where all is granted */
    char sentence[CLIENT_WHY];     /* why status is not 0; for a terminal */
};

/* A spec that is there, as it was read. */
struct request_spec {
    json_t *json;
    char *text;
    ino_t inode;
    struct timespec modified;
};

/* Opens the spool and enters the user's directory, which is made with `create`. Needs no broker. */
void request_open(struct request *request, const char *spool, uint64_t timeout, bool create);
void request_close(struct request *request);

/* Signals that would end the command are held back until request_let_signals: what is in the spool is taken back first. */
void request_hold_signals(struct request *request);
void request_let_signals(struct request *request);

/* Takes hold of the broker. False: `sentence` and `status` say why. What is connected stays so. */
bool request_connect(struct request *request);

/* The spec NAME of the user's own, once no other command of rtf changes it, which waits for this one. There is none: the command ends with 66. It cannot be understood: with 65. To be freed with request_free_spec. */
struct request_spec request_read(struct request *request, const char *name);
void request_free_spec(struct request_spec *spec);

/* Gives the spec a new token and puts it under that name, where there is none. False: a spec of that name exists. The name is borrowed. */
bool request_put(struct request *request, const char *name, json_t *spec);

/* The same in the place of the one that was read. */
void request_change(struct request *request, const char *name, const struct request_spec *former, json_t *spec);

/* Waits for the answer to what was put or changed. True: all is granted. */
bool request_wait(struct request *request);

/* Waits for the answer to NAME's files as they are. */
bool request_wait_for_files(struct request *request, const char *name);

/* Waits until NAME and its files are gone. */
bool request_wait_for_end(struct request *request, const char *name);

/* The thread that NAME's last answer tells of; 0: none. */
pid_t request_thread(const struct request *request, const char *name);

/* The last answer tells that no thread is attached. */
bool request_thread_has_ended(const struct request *request, const char *name);

/* Takes back what request_put has put. */
void request_withdraw(struct request *request);

/* Puts the former spec in the place of what request_change has put, unless another one is there. Where the change was answered, this one's answer is waited
 * for, too, so that what follows finds things settled: `verdict` and its like stay what they are. */
void request_put_back(struct request *request, const struct request_spec *former);

/* "rtf declare: cam: SENTENCE" */
void request_say(const struct request *request, const char *name);

/* "rtf declare: cam: EDF grants 5ms of each 20ms on CPUs 0-1, 0.25 of a CPU" */
void request_say_grant(const struct request *request);

/* Prints the answer, a line of JSON. False: standard output cannot be written. */
bool request_print(const struct request *request);

#endif
