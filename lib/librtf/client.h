/* The client of the spool, for programs of users: writes specs and waits for the broker's answers.
 *
 * One struct client serves one thread. client_close closes its descriptors; exec closes them, too.
 * Functions return an outcome and never print or exit. After any outcome except CLIENT_OK and
 * CLIENT_PENDING, client->why holds one sentence for people. Strings passed in are borrowed. Times
 * are microseconds. Spec names must satisfy client_name_ok. Waiting needs /proc: the client sets a
 * watch on the path of an open descriptor in /proc, so that it does not watch another file that has
 * got the same name. */
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
    CLIENT_PENDING, /* there is no answer yet (client_wait never returns this outcome) */
    /* no broker runs or starts on this spool, or the broker ended during the wait */
    CLIENT_NO_BROKER,
    CLIENT_DENIED, /* the user has no access to this spool */
    CLIENT_TAKEN,  /* a spec of this name exists */
    CLIENT_TIMEOUT,
    CLIENT_INTERRUPTED, /* the descriptor client_wait.interrupt became readable */
    /* the spec, or the directory of the user's specs, does not exist (any more) */
    CLIENT_GONE,
    CLIENT_ERROR
};

/* An inotify watch that later waits use again. The kernel needs about 10 ms to close an inotify
 * instance. So a caller that waits often keeps one instance, and a caller that waits once uses a
 * signal instead (client-dnotify.h). A descriptor that is -1 is not open. */
struct client_watch {
    int events;
    /* the watch on the user's directory: reports its end, and file changes if `wide` */
    int directory;
    int spec; /* the watch on the spec of the last wait */
    /* the inode of the watched directory; while the directory is watched, no other file gets this
     * inode */
    ino_t inode;
    bool wide;
};

struct client {
    const char *spool; /* the argument of client_open, borrowed */
    /* the spool's directory; this and the next four integers are descriptors, and -1 when not
     * open */
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
    /* the present verdict, even if it answers an earlier request; only for client_look */
    CLIENT_NEWS,
    CLIENT_END /* the files are removed; there is no verdict */
};

struct client_wait {
    enum client_goal goal;
    const char *name;
    /* the answer must have this token; NULL: the answer must have the stamps of the present
     * files */
    const char *token;
    /* the inode of the NAME.json to watch, from client_put; 0: any file with the name */
    ino_t inode;
    bool attached; /* true: the wait goes on while an attachment waits for its thread to wake */
    /* true (only with a token): an answer that grants everything is not parsed, because parsing
     * takes as long as all other work of the client */
    bool unread;
    int64_t until; /* a time from client_until */
    /* a descriptor that ends the wait when it is readable, or -1; the client never reads it, so a
     * signal that a signalfd reports stays pending */
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

/* Makes a token: sixteen random hexadecimal digits. By its token, the answer to a spec differs from
 * an answer to an earlier spec of the same name. */
bool client_make_token(char token[static CLIENT_TOKEN]);

/* Fills the standard descriptors (0 to 2) that are closed, so that no file opened later gets their
 * numbers. Reads and writes of these descriptors fail as before, and exec closes them again. Call
 * this in the first line of main. */
void client_hold_standard_fds(void);

/* Opens the spool; needs no broker. Call client_close afterwards, whatever the outcome. */
enum client_outcome client_open(struct client *client, const char *spool);

/* After EACCES at a file of the spool: writes to client->why what the user lacks. Returns
 * CLIENT_DENIED. */
enum client_outcome client_denied(struct client *client, const char *file);

/* Returns the time at which a wait that starts now has to end. All functions with the parameter
 * `until` take this time. microseconds 0: wait for ever; returns 0. */
int64_t client_until(uint64_t microseconds);

/* Opens the pipe `alive`, by which the client notices the broker's end. If a broker is starting,
 * waits until it serves. */
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

/* Like client_change, but for an earlier text of the spec. Also gives the file the modification
 * time of the earlier text. */
enum client_outcome client_put_back(struct client *client, const char *name, const char *text,
                                    const struct timespec *modified, ino_t *inode);

/* True if the caller is in the first pid namespace. In this namespace, threads have the same ids as
 * for the broker. */
bool client_in_first_namespace(void);

/* Returns the inode of the thread's pidfd if the caller is not in the first pid namespace: there
 * the thread's id alone would name another thread to the broker. In the first pid namespace,
 * returns 0. */
uint64_t client_thread_inode(pid_t thread);

/* Returns the value of the key "attach" for this thread. The caller owns it. */
json_t *client_thread_key(pid_t thread);

/* Checks whether the thread can have the reservation NAME. CLIENT_TAKEN: another living thread has
 * the reservation, or has just asked for it. */
enum client_outcome client_find_free(struct client *client, const char *name, pid_t thread);

/* client_attach asks the broker to attach the thread: it makes or replaces NAME.tid. client_detach
 * asks the broker to detach the thread: it removes NAME.tid. client_wait without a token waits for
 * the answer. */
enum client_outcome client_attach(struct client *client, const char *name, pid_t thread);
/* Like client_attach, if the reservation is free (client_find_free). If several threads take the
 * reservation at the same time, one of them gets it, and the others get CLIENT_TAKEN. */
enum client_outcome client_take(struct client *client, const char *name, pid_t thread);
enum client_outcome client_detach(struct client *client, const char *name);

/* Returns the present text of NAME.json, which the caller frees. NULL: no such file, or the file is
 * unreadable. */
char *client_read_spec(const struct client *client, const char *name);

/* Looks for a spec by its name, whatever program has made it. CLIENT_OK: no living thread runs
 * under the spec, and the caller may replace its file; *inode is the inode of this file.
 * CLIENT_TAKEN: a thread runs under the spec, or the broker has not answered yet. CLIENT_GONE: no
 * such spec. */
enum client_outcome client_find_abandoned(struct client *client, const char *name, ino_t *inode);

/* After CLIENT_TAKEN: writes to client->why which thread runs under the spec, and how to end the
 * spec. cure: words to insert into the sentence if no thread runs under the spec, such as
 * "--replace takes its place, "; or "". */
void client_tell_holder(struct client *client, const char *name, const char *cure);

/* Renews the lease of a spec: the time of its key "expires" begins again. Does nothing if NAME.json
 * is another file than inode. */
void client_renew(const struct client *client, const char *name, ino_t inode);

/* Removes NAME.json and its answer. Does nothing if NAME.json is another file than inode. */
void client_withdraw(const struct client *client, const char *name, ino_t inode);

/* Removes NAME.json if the file still has this inode. The broker removes the answer later, when the
 * reservation has ended: a wait for CLIENT_END waits for this. */
enum client_outcome client_remove(struct client *client, const char *name, ino_t inode);

/* Returns the inode of NAME.json; 0: there is no such file. */
ino_t client_inode(const struct client *client, const char *name);

/* Reads the present answer to the spec of *wait, and does not wait. CLIENT_OK: *verdict has the
 * answer, and the caller frees it. CLIENT_PENDING: no answer yet. CLIENT_GONE: no spec. */
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

/* Writes how root gives this process's user access to the spool, for a message about a refusal with
 * the code not-a-member. Returns text. */
char *client_tell_join(const struct client *client, char text[static CLIENT_WHY]);

/* Returns the exit status of a command that prints this verdict (rtf-wait(1)). */
int client_status_of_verdict(const json_t *verdict);

/* Returns the exit status of a command that got no answer. */
int client_status_of_outcome(enum client_outcome outcome);

/* Prepares client->watch for a client_wait; call this before the request. Forgets old events.
 * Returns true if the directory that client_enter entered may have been renamed since the last
 * wait. (Only client_put reports a removed directory.) wide: one watch on the directory wakes the
 * caller for every spec, and no spec needs a watch of its own. Choose wide unless other calls wait
 * for specs of this user at the same time. */
bool client_begin_watch(struct client *client, bool wide);

/* Sleeps until client_look has an answer, or no answer can come any more. Call client_connect
 * first: the answer of a broker that has ended may be out of date. */
enum client_outcome client_wait(struct client *client, const struct client_wait *wait,
                                struct client_verdict *verdict);

/* Reads a verdict or status.json: the whole file, as one object, which the caller frees. NULL:
 * there is no such file, or it is not one JSON object. */
json_t *client_read_object(int directory, const char *file);

/* Like client_read_object, but parses a text. The caller keeps the text. If the text is NULL,
 * returns NULL. */
json_t *client_parse_object(const char *text);

/* Returns the string at this key of an object; NULL: there is none. The string lives as long as the
 * object. */
const char *client_string(const json_t *object, const char *key);

void client_free_verdict(struct client_verdict *verdict);
void client_close(struct client *client);

#endif
