/* The user's side of the spool: writes specs and waits for the broker's answers.
 *
 * One struct client serves one thread. client_close closes its descriptors; exec closes them, too.
 * Functions return an outcome and never print or exit. After any outcome except CLIENT_OK and
 * CLIENT_PENDING, client->why holds one sentence for people. Strings passed in are borrowed. Times
 * are microseconds. Spec names must satisfy client_name_ok. Waiting needs /proc: a watch is set
 * through an open descriptor's path there, so that a file renamed to the same name is not watched
 * by mistake. */
#ifndef RTF_CLIENT_H
#define RTF_CLIENT_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "version.h"

#define RTF_SPOOL "/var/spool/rtf"

enum { CLIENT_NAME_MAX = 64, CLIENT_TOKEN = 17, CLIENT_WHY = 512 };

enum client_outcome {
    CLIENT_OK,
    CLIENT_PENDING, /* no answer yet (client_wait never returns this) */
    /* no broker runs on this spool or is starting, or the broker ended during the wait */
    CLIENT_NO_BROKER,
    CLIENT_DENIED, /* the user has no access to this spool */
    CLIENT_TAKEN,  /* a spec of this name exists */
    CLIENT_TIMEOUT,
    CLIENT_INTERRUPTED, /* client_wait.interrupt became readable */
    CLIENT_GONE,        /* the spec or its directory does not exist (any more) */
    CLIENT_ERROR
};

/* An inotify watch that later waits use again. The kernel needs about 10 ms to close an inotify
 * instance: a caller that waits often keeps one, and a caller that waits once uses a signal instead
 * (client-dnotify.h). -1: none. */
struct client_watch {
    int events;
    /* the watch on the user's directory: reports its end, and file changes if `wide` */
    int directory;
    int spec; /* the watch on the spec of the last wait */
    /* the inode of the directory, which no other file gets while the directory is watched */
    ino_t inode;
    bool wide;
};

struct client {
    const char *spool; /* the argument of client_open, borrowed */
    /* the spool; the five integers here are descriptors, -1 when not open */
    int root;
    int descriptors; /* /proc/self/fd; -1 without /proc: waiting is impossible */
    int specs;
    /* the FIFO "alive": poll(2) reports POLLERR while no broker runs */
    int alive;
    int directory;             /* the user's directory */
    ino_t inode;               /* the inode of the directory */
    struct client_watch watch; /* the caller's watch for client_wait; .events = -1: none */
    char user[NAME_MAX + 1];   /* the directory's name */
    char why[CLIENT_WHY];
    char waits_for[CLIENT_WHY]; /* the broker's reason why the spec waits; "": none */
};

/* The broker's answer, as received and parsed. With client_wait.unread, json may be NULL. */
struct client_verdict {
    char *text;
    json_t *json;
};

/* The event that client_wait waits for. */
enum client_goal {
    CLIENT_ANSWER, /* any answer to the present state of the files */
    CLIENT_GRANT,  /* an answer that grants a reservation */
    CLIENT_NEWS,   /* the present verdict, whatever request it answers: only for client_look */
    CLIENT_END     /* the files are removed; there is no verdict */
};

struct client_wait {
    enum client_goal goal;
    const char *name;
    const char *token; /* the answer must have this token; NULL: the stamps of the present files */
    ino_t inode;       /* watch only this file, made by client_put; 0: any file with the name */
    bool attached;     /* true: an attachment that waits for its thread to wake is no answer yet */
    /* true (only with a token): leave an answer that grants everything unparsed (parsing takes as
     * long as the rest of the client's work) */
    bool unread;
    int64_t until; /* a time from client_until */
    /* a descriptor that ends the wait, or -1; only polled: a pending signal stays pending */
    int interrupt;
};

/* The rule for the name of a spec, as a sentence for people. */
#define CLIENT_NAME_RULE \
    "a name must be 1 to 64 of A-Z a-z 0-9 _ . @ : - and start with a letter, a digit or _"
bool client_name_ok(const char *name);

/* Parses a time of a command line, in microseconds. NULL: valid; else a sentence that says what is
 * wrong. */
const char *client_take_time(const char *text, uint64_t *microseconds);
/* Like client_take_time, for a time to wait, up to 366 days. */
const char *client_take_wait(const char *text, uint64_t *microseconds);

/* Makes sixteen random hexadecimal digits, by which the answer to this spec differs from an answer
 * to an earlier spec of the same name. */
bool client_make_token(char token[static CLIENT_TOKEN]);

/* Fills closed standard descriptors, so that no file opened later gets their numbers. Reads and
 * writes fail as before; exec closes them again. Call this in the first line of main. */
void client_hold_standard_fds(void);

/* Opens the spool; needs no broker. Call client_close afterwards, whatever the outcome. */
enum client_outcome client_open(struct client *client, const char *spool);

/* After EACCES at a file of the spool: writes to client->why what the user lacks. Returns
 * CLIENT_DENIED. */
enum client_outcome client_denied(struct client *client, const char *file);

/* Returns the end of a wait that starts now, for all functions with the parameter `until`.
 * microseconds 0: wait for ever; returns 0. */
int64_t client_until(uint64_t microseconds);

/* Opens the pipe `alive`, by which the client notices the broker's end. Waits only for a broker
 * that is starting. */
enum client_outcome client_connect(struct client *client, int64_t until);

/* Opens the caller's directory: $USER, else the decimal uid, else the account's name. create: make
 * a missing directory (otherwise CLIENT_GONE). */
enum client_outcome client_enter(struct client *client, bool create);

/* True if the name of the entered directory now leads to another directory, or to nothing. */
bool client_has_moved(const struct client *client);

/* Makes NAME.json with this text, in one atomic step. Never replaces a file (CLIENT_TAKEN). */
enum client_outcome client_put(struct client *client, const char *name, const char *text,
                               ino_t *inode);

/* Replaces the NAME.json that this program has made (*inode). CLIENT_GONE: the file is not there
 * any more. */
enum client_outcome client_change(struct client *client, const char *name, const char *text,
                                  ino_t *inode);

/* Like client_change, for an earlier text: gives the file the modification time of that text,
 * too. */
enum client_outcome client_put_back(struct client *client, const char *name, const char *text,
                                    const struct timespec *modified, ino_t *inode);

/* True if the caller is in the first pid namespace, where thread ids are those of the broker. */
bool client_in_first_namespace(void);

/* The inode of the thread's pidfd if the caller is in another pid namespace than the first, where
 * the number alone would mean another thread to the broker; else 0. */
uint64_t client_thread_inode(pid_t thread);

/* Returns the value of the key "attach" for this thread. The caller owns it. */
json_t *client_thread_key(pid_t thread);

/* CLIENT_TAKEN: another living thread has the reservation NAME, or has just asked for it. */
enum client_outcome client_find_free(struct client *client, const char *name, pid_t thread);

/* Makes or replaces NAME.tid: attach the thread. Removes NAME.tid: detach. client_wait without a
 * token waits for the answer. */
enum client_outcome client_attach(struct client *client, const char *name, pid_t thread);
/* Like client_attach, if the reservation is free (client_find_free). Of several threads that take
 * it at once, one has it, and the others get CLIENT_TAKEN. */
enum client_outcome client_take(struct client *client, const char *name, pid_t thread);
enum client_outcome client_detach(struct client *client, const char *name);

/* Returns the present text of NAME.json, which the caller frees. NULL: no such file, or the file is
 * unreadable. */
char *client_read_spec(const struct client *client, const char *name);

/* Looks for a spec of any program by its name. CLIENT_OK: no living thread runs under the spec, and
 * *inode is its file, to be replaced. CLIENT_TAKEN: a thread runs, or there is no answer yet.
 * CLIENT_GONE: no such spec. */
enum client_outcome client_find_abandoned(struct client *client, const char *name, ino_t *inode);

/* After CLIENT_TAKEN: writes to client->why which thread runs under the spec, and how to end the
 * spec. cure: inserted where no thread runs, such as "--replace takes its place, "; or "". */
void client_tell_holder(struct client *client, const char *name, const char *cure);

/* Renews the lease: `expires` counts from now. Does nothing if NAME.json is another file than
 * inode. */
void client_renew(const struct client *client, const char *name, ino_t inode);

/* Removes NAME.json and its answer. Does nothing if NAME.json is another file than inode. */
void client_withdraw(const struct client *client, const char *name, ino_t inode);

/* Removes NAME.json if the file still has this inode. The broker removes the answer later, when the
 * reservation has ended: see CLIENT_END. */
enum client_outcome client_remove(struct client *client, const char *name, ino_t inode);

/* Returns the inode of NAME.json; 0: there is no such file. */
ino_t client_inode(const struct client *client, const char *name);

/* Reads the present answer. CLIENT_OK: *verdict has the answer, and the caller frees it.
 * CLIENT_PENDING: no answer yet. CLIENT_GONE: no spec. */
enum client_outcome client_look(struct client *client, const struct client_wait *wait,
                                struct client_verdict *verdict);

/* Makes text of another user or of a program safe for a terminal. Printable ASCII stays; any other
 * character becomes \uXXXX, as in JSON. client_escape takes one character, moves *text past the
 * character, and returns the length of the piece. client_printable takes as many characters as fit,
 * and returns `printable`. */
enum { CLIENT_PIECE = 13 };
int client_escape(const char **text, char piece[static CLIENT_PIECE]);
char *client_printable(const char *text, char *printable, size_t size);

/* Writes the broker's sentence about a refusal, in printable characters: "EDF refused: CPU 1 has
 * 0.12 of 0.95 left, 0.2 asked; a runtime of at most 1200us would fit". */
void client_tell_refusal(const json_t *verdict, char text[static CLIENT_WHY]);

/* Writes the command that starts the broker of this spool on this machine. Returns text. */
char *client_starter(const char *spool, char text[static CLIENT_WHY]);

/* Writes "no broker is running on SPOOL ('systemctl start rtf', as root, starts one)". Returns
 * text. */
char *client_tell_no_broker(const char *spool, char text[static CLIENT_WHY]);

/* Writes how root gives this process's user access to the spool, for a refusal with the code
 * not-a-member. Returns text. */
char *client_tell_join(const struct client *client, char text[static CLIENT_WHY]);

/* Returns the exit status of a command that prints this verdict (rtf-wait(1)). */
int client_status_of_verdict(const json_t *verdict);

/* Returns the exit status of a command that got no answer. */
int client_status_of_outcome(enum client_outcome outcome);

/* Prepares client->watch for a client_wait; call this before the request. Forgets old events.
 * Returns true if the entered directory may have been renamed since the last wait. (Only client_put
 * reports a removed directory.) wide: one watch on the directory wakes the caller for every
 * spec, and no spec needs a watch of its own. Choose wide unless other calls wait for specs of this
 * user at the same time. */
bool client_begin_watch(struct client *client, bool wide);

/* Sleeps until client_look has an answer, or no answer will come. Call client_connect first: an
 * answer of a broker that has ended may not hold any more. */
enum client_outcome client_wait(struct client *client, const struct client_wait *wait,
                                struct client_verdict *verdict);

/* Reads a verdict or status.json: the whole file, as one object, which the caller frees. NULL: no
 * such file, or not an object. */
json_t *client_read_object(int directory, const char *file);

/* Like client_read_object, for a text, which is borrowed. NULL gives NULL. */
json_t *client_parse_object(const char *text);

/* Returns the string at this key of an object; NULL: there is none. The string lives as long as the
 * object. */
const char *client_string(const json_t *object, const char *key);

void client_free_verdict(struct client_verdict *verdict);
void client_close(struct client *client);

#endif
