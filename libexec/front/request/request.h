/* A request to the broker: a command puts a spec into the user's own directory, or changes a spec
 * there, and waits for the answer. An error that concerns one reservation leaves a sentence and an
 * exit status in struct request. Any other error ends the process with a sentence. */
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
    uint64_t timeout; /* us: the limit of each wait */
    bool is_entered;  /* false: the user has no directory */
    bool is_connected;
    int lock; /* the lock of the spec that was read or changed last (spec-lock.h); -1: none */
    struct held_signals signals; /* .fd = -1: no signal is held back */
    /* The spec that request_put or request_change has written last. */
    const char *name;
    char token[CLIENT_TOKEN];
    ino_t inode; /* 0: none */
    /* The answer to the spec that was written last. */
    struct client_verdict verdict; /* .text NULL: no answer has come */
    int status;                    /* the exit status; 0: the spec is granted */
    char sentence[CLIENT_WHY];     /* the reason of a status that is not 0, in printable ASCII */
};

/* A spec that request_read has read. */
struct request_spec {
    json_t *json;
    char *text;
    ino_t inode;
    struct timespec modified;
};

/* Opens the spool and enters the user's directory. With `create` a missing directory is made. No
 * broker needs to run. */
void request_open(struct request *request, const char *spool, uint64_t timeout, bool create);
void request_close(struct request *request);

/* Holds back the signals that would end the process, until request_let_signals. Until then the
 * command can remove its spec, so that no signal leaves the spec behind. */
void request_hold_signals(struct request *request);
void request_let_signals(struct request *request);

/* Makes sure that a broker serves the spool. Does nothing if an earlier call was successful. False:
 * `sentence` and `status` say why. */
bool request_connect(struct request *request);

/* Reads the user's spec NAME, and locks it against other commands of rtf; waits while another
 * command has the spec locked. The process ends with EX_NOINPUT if there is no such spec, and with
 * EX_DATAERR if the spec is not one JSON object. request_free_spec frees the spec. */
struct request_spec request_read(struct request *request, const char *name);
void request_free_spec(struct request_spec *spec);

/* Gives the spec a new token and puts it into the spool under this name, which must live as long as
 * the request. False: a spec of that name exists. */
bool request_put(struct request *request, const char *name, json_t *spec);

/* Gives the spec a new token, and replaces the spec `former`, which request_read has read. */
void request_change(struct request *request, const char *name, const struct request_spec *former,
                    json_t *spec);

/* Waits for the answer to the spec that was put or changed. True: the spec is granted. */
bool request_wait(struct request *request);

/* Waits for the answer to NAME.json and NAME.tid as they are now. True: the spec is granted. */
bool request_wait_for_files(struct request *request, const char *name);

/* Waits until the reservation NAME has ended and its files are gone. False: `sentence` and `status`
 * say why. */
bool request_wait_for_end(struct request *request, const char *name);

/* Returns the thread in NAME's last verdict; 0: none. */
pid_t request_thread(const struct request *request, const char *name);

/* True if NAME's last verdict says that no thread is attached. Without a verdict the result is
 * false. */
bool request_thread_has_ended(const struct request *request, const char *name);

/* Removes the spec that request_put has written. */
void request_withdraw(struct request *request);

/* Undoes request_change: puts the former spec back, unless another process has put a spec there
 * meanwhile. If the broker has answered the change, waits for the answer to the former spec, too,
 * so that the reservation is as before when this function returns. `verdict`, `status` and
 * `sentence` still have the answer to the change. */
void request_put_back(struct request *request, const struct request_spec *former);

/* Prints the sentence on standard error, as in "rtf declare: cam: SENTENCE". */
void request_say(const struct request *request, const char *name);

/* Prints on standard error what is granted, as in "rtf declare: cam: EDF grants 5ms of each 20ms on
 * CPUs 0-1, 0.25 of a CPU". For a program, prints such a sentence for each thread. */
void request_say_grant(const struct request *request);

/* Prints the verdict as a line of JSON. False: standard output cannot be written
 * (command_is_written). */
bool request_print(const struct request *request);

#endif
