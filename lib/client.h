/* The user's side of the spool: put a spec there, wait for the broker's answer.
 *
 * One struct client serves one thread. Its descriptors are closed on exec and freed by client_close.
 * Functions return an outcome and never print or exit; unless it is CLIENT_OK or CLIENT_PENDING, client->why holds
 * one sentence for people. Texts passed in are borrowed. Times are microseconds. Spec names must satisfy
 * client_name_ok. Waiting needs /proc: a watch is set on what is open, not on what bears its name by then. */
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
    CLIENT_PENDING,     /* there is no answer yet (never the end of client_wait) */
    CLIENT_NO_BROKER,   /* none runs on this spool or is starting, or it ended while we waited */
    CLIENT_DENIED,      /* this user may not use this spool */
    CLIENT_TAKEN,       /* a spec of this name exists */
    CLIENT_TIMEOUT,
    CLIENT_INTERRUPTED, /* client_wait.interrupt became readable */
    CLIENT_GONE,        /* the spec or its directory is not there (any more) */
    CLIENT_ERROR
};

/* What is watched, and by which inotify instance. To close one takes the kernel 10 ms: who waits often keeps one, who does not hears by a signal. -1: none. */
struct client_watch {
    int events;
    int directory; /* for its own end; with `wide` for what is put there and removed, too */
    int spec;      /* of the last wait */
    ino_t inode;   /* of that directory: its number is no other's while it is watched */
    bool wide;
};

struct client {
    const char *spool;       /* as given to client_open, which borrows it */
    int root;                /* the spool; these five are descriptors, -1 when not open */
    int descriptors;         /* /proc/self/fd; -1 without /proc: then waiting is not possible */
    int specs;
    int alive;               /* only polled: POLLERR once no broker holds the other end */
    int directory;           /* the user's own */
    ino_t inode;             /* of that */
    struct client_watch watch; /* the caller's, to wait with; .events = -1: there is none */
    char user[NAME_MAX + 1]; /* that directory's name */
    char why[CLIENT_WHY];
    char waits_for[CLIENT_WHY]; /* what the broker has said that the spec waits for; "" */
};

/* The broker's answer, as received and as parsed; with client_wait.unread also without json. */
struct client_verdict {
    char *text;
    json_t *json;
};

/* What is waited for. */
enum client_goal {
    CLIENT_ANSWER, /* to the files as they are, whatever it is */
    CLIENT_GRANT,  /* an answer by which something is reserved */
    CLIENT_END     /* the files are gone; there is no verdict then */
};

struct client_wait {
    enum client_goal goal;
    const char *name;
    const char *token; /* the answer must echo it; NULL: must bear the stamps of the files as they are now */
    ino_t inode;       /* watch this spec alone, as client_put made it; 0: whatever bears the name */
    bool attached;     /* a thread that is attached only when it wakes is no answer yet */
    bool unread;       /* with a token: an answer by which all is granted need not be parsed, which takes as long as the rest of the client's work */
    int64_t until;     /* client_until */
    int interrupt;     /* a descriptor, or -1; only polled, so that a pending signal stays pending */
};

/* How a spec may be called; the sentence says it to people. */
#define CLIENT_NAME_RULE "a name is 1 to 64 of A-Z a-z 0-9 _ . @ : - and starts with a letter, a digit or _"
bool client_name_ok(const char *name);

/* A time as typed on a command line: NULL, or the sentence that says what is wrong with it. */
const char *client_take_time(const char *text, uint64_t *microseconds);
/* The same of how long to wait. */
const char *client_take_wait(const char *text, uint64_t *microseconds);

/* Sixteen random hexadecimal digits: tell the answer to this spec from one to an earlier of the same name. */
bool client_make_token(char token[static CLIENT_TOKEN]);

/* Fills closed standard descriptors, so that nothing opened later is mistaken for them: they stay unreadable
 * and unwritable, and are closed again on exec. For the first line of main. */
void client_hold_standard_fds(void);

/* Opens the spool; needs no broker. Whatever the outcome, client_close is allowed and needed afterwards. */
enum client_outcome client_open(struct client *client, const char *spool);

/* After EACCES at a file of the spool: CLIENT_DENIED, and to why what the user lacks. */
enum client_outcome client_denied(struct client *client, const char *file);

/* When so much time from now is over, for all that is waited for; of 0 never, which is 0. */
int64_t client_until(uint64_t microseconds);

/* Takes hold of `alive`. At once, unless a broker is starting: that is waited for. */
enum client_outcome client_connect(struct client *client, int64_t until);

/* Finds the caller's own directory: $USER, else the decimal uid, else the account's name; with `create` it is
 * made when missing (otherwise CLIENT_GONE). */
enum client_outcome client_enter(struct client *client, bool create);

/* Whether the directory that was entered is no more what bears its name. */
bool client_has_moved(const struct client *client);

/* Makes NAME.json appear with this text in one instant, and never over an existing one (CLIENT_TAKEN). */
enum client_outcome client_put(struct client *client, const char *name, const char *text, ino_t *inode);

/* The same in the place of what we have put there before; CLIENT_GONE: that is not there any more. */
enum client_outcome client_change(struct client *client, const char *name, const char *text, ino_t *inode);

/* The same, and the file gets the modification time of the earlier text that is put back. */
enum client_outcome client_put_back(struct client *client, const char *name, const char *text, const struct timespec *modified, ino_t *inode);

/* Makes NAME.tid appear, in the place of one that is there: attach that thread. And has it go: detach. client_wait without a token has the answer. */
enum client_outcome client_attach(struct client *client, const char *name, pid_t thread);
enum client_outcome client_detach(struct client *client, const char *name);

/* What is there by this name, whoever put it there: CLIENT_OK, if no living thread runs under it, and whose place it is; CLIENT_TAKEN; CLIENT_GONE. */
enum client_outcome client_find_abandoned(struct client *client, const char *name, ino_t *inode);

/* After CLIENT_TAKEN: writes to client->why which thread runs under the spec, and what ends the spec. cure: where no thread runs, this comes before that, such
 * as "--replace takes its place, "; or "". */
void client_tell_holder(struct client *client, const char *name, const char *cure);

/* Its "expires" begins anew, if it still is this inode. */
void client_renew(const struct client *client, const char *name, ino_t inode);

/* Removes NAME.json, if it still is this inode, and its answer. */
void client_withdraw(const struct client *client, const char *name, ino_t inode);

/* Removes NAME.json, if it still is this inode, and leaves its answer to the broker, who has it go at the end: see CLIENT_END. */
enum client_outcome client_remove(struct client *client, const char *name, ino_t inode);

/* The inode of NAME.json, 0: there is none. */
ino_t client_inode(const struct client *client, const char *name);

/* What is there now: CLIENT_OK fills the verdict, which the caller frees; else CLIENT_PENDING or CLIENT_GONE. */
enum client_outcome client_look(struct client *client, const struct client_wait *wait,
                          struct client_verdict *verdict);

/* Text of another user or of a program, for a terminal: printable ASCII stays, and any other character becomes \uXXXX, as in JSON. client_escape takes one
 * character, moves *text behind it, and returns the length of the piece; client_printable takes as many as fit, and returns `printable`. */
enum { CLIENT_PIECE = 13 };
int client_escape(const char **text, char piece[static CLIENT_PIECE]);
char *client_printable(const char *text, char *printable, size_t size);

/* "EDF refused: CPU 1 has 0.12 of 0.95 left, 0.2 asked; a runtime of at most 1200us would fit": the broker's sentence, for a terminal. */
void client_tell_refusal(const json_t *verdict, char text[static CLIENT_WHY]);

/* The exit status of a command that prints this verdict (rtf-wait(1)). */
int client_status_of_verdict(const json_t *verdict);

/* The exit status of a command that got no answer. */
int client_status_of_outcome(enum client_outcome outcome);

/* Before a request that client_wait is to wait for with this watch: what is no news any more goes. True: the directory that was entered may have been moved
 * since; of one that was removed only client_put says so. wide: whoever does not wait beside others of this user is woken by the directory, which then need
 * not be told about each spec. */
bool client_begin_watch(struct client *client, bool wide);

/* Sleeps until client_look has an answer or there will be none; after client_connect, for what was answered by a broker that has ended
 * need not hold any more. */
enum client_outcome client_wait(struct client *client, const struct client_wait *wait,
                          struct client_verdict *verdict);

/* A verdict, or status.json: the whole file, as one object, which the caller frees. NULL: there is no such file, or it cannot be an answer. */
json_t *client_read_object(int directory, const char *file);

/* The same of a text, which is borrowed; NULL: NULL. */
json_t *client_parse_object(const char *text);

/* The string at this key of an object; NULL if there is none. Lives as long as the object. */
const char *client_string(const json_t *object, const char *key);

void client_free_verdict(struct client_verdict *verdict);
void client_close(struct client *client);

#endif
