/* The user's side of the spool: put a spec there, wait for the broker's answer.
 *
 * One struct rtf_client serves one thread. Its descriptors are closed on exec and freed by rtf_close.
 * Functions return an outcome and never print or exit; unless it is RTF_OK or RTF_PENDING, client->why holds
 * one sentence for people. Texts passed in are borrowed. Times are microseconds. Spec names must satisfy
 * rtf_name_ok. Waiting needs /proc: a watch is set on what is open, not on what bears its name by then. */
#ifndef RTF_CLIENT_H
#define RTF_CLIENT_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "version.h"

#define RTF_SPOOL "/var/spool/rtf"

enum { RTF_NAME_MAX = 64, RTF_TOKEN = 17, RTF_WHY = 512 };

enum rtf_outcome {
    RTF_OK,
    RTF_PENDING,     /* there is no answer yet (never the end of rtf_wait) */
    RTF_NO_BROKER,   /* none runs on this spool or is starting, or it ended while we waited */
    RTF_DENIED,      /* this user may not use this spool */
    RTF_TAKEN,       /* a spec of this name exists */
    RTF_TIMEOUT,
    RTF_INTERRUPTED, /* rtf_wait.interrupt became readable */
    RTF_GONE,        /* the spec or its directory is not there (any more) */
    RTF_ERROR
};

struct rtf_client {
    const char *spool;       /* as given to rtf_open, which borrows it */
    int root;                /* the spool; these four are descriptors, -1 when not open */
    int specs;
    int alive;               /* only polled: POLLERR once no broker holds the other end */
    int directory;           /* the user's own */
    char user[NAME_MAX + 1]; /* that directory's name */
    char why[RTF_WHY];
    char waits_for[RTF_WHY]; /* what the broker has said that the spec waits for; "" */
};

/* The broker's answer, as received and as parsed. */
struct rtf_verdict {
    char *text;
    json_t *json;
};

/* What is waited for. */
enum rtf_goal {
    RTF_ANSWER, /* to the files as they are, whatever it is */
    RTF_GRANT,  /* an answer by which something is reserved */
    RTF_END     /* the files are gone; there is no verdict then */
};

struct rtf_wait {
    enum rtf_goal goal;
    const char *name;
    const char *token; /* the answer must echo it; NULL: must bear the stamps of the files as they are now */
    ino_t inode;       /* watch this spec alone, as rtf_put made it; 0: whatever bears the name */
    bool attached;     /* a thread that is attached only when it wakes is no answer yet */
    int64_t until;     /* rtf_until */
    int interrupt;     /* a descriptor, or -1; only polled, so that a pending signal stays pending */
};

/* How a spec may be called; the sentence says it to people. */
#define RTF_NAME_RULE "a name is 1 to 64 of A-Z a-z 0-9 _ . @ : - and starts with a letter, a digit or _"
bool rtf_name_ok(const char *name);

/* A time as typed on a command line: NULL, or the sentence that says what is wrong with it. */
const char *rtf_take_time(const char *text, uint64_t *microseconds);

/* Sixteen random hexadecimal digits: tell the answer to this spec from one to an earlier of the same name. */
bool rtf_make_token(char token[static RTF_TOKEN]);

/* Fills closed standard descriptors, so that nothing opened later is mistaken for them: they stay unreadable
 * and unwritable, and are closed again on exec. For the first line of main. */
void rtf_hold_standard_fds(void);

/* Opens the spool; needs no broker. Whatever the outcome, rtf_close is allowed and needed afterwards. */
enum rtf_outcome rtf_open(struct rtf_client *client, const char *spool);

/* When so much time from now is over, for all that is waited for; of 0 never, which is 0. */
int64_t rtf_until(uint64_t microseconds);

/* Takes hold of `alive`. At once, unless a broker is starting: that is waited for. */
enum rtf_outcome rtf_connect(struct rtf_client *client, int64_t until);

/* Finds the caller's own directory: $USER, else the decimal uid, else the account's name; with `create` it is
 * made when missing (otherwise RTF_GONE). */
enum rtf_outcome rtf_enter(struct rtf_client *client, bool create);

/* Makes NAME.json appear with this text in one instant, and never over an existing one (RTF_TAKEN). */
enum rtf_outcome rtf_put(struct rtf_client *client, const char *name, const char *text, ino_t *inode);

/* The same in the place of what we have put there before; RTF_GONE: that is not there any more. */
enum rtf_outcome rtf_change(struct rtf_client *client, const char *name, const char *text, ino_t *inode);

/* What is there by this name, whoever put it there: RTF_OK, if no living thread runs under it, and whose place it is; RTF_TAKEN; RTF_GONE. */
enum rtf_outcome rtf_find_abandoned(struct rtf_client *client, const char *name, ino_t *inode);

/* Its "expires" begins anew, if it still is this inode. */
void rtf_renew(const struct rtf_client *client, const char *name, ino_t inode);

/* Removes NAME.json, if it still is this inode, and its answer. */
void rtf_withdraw(const struct rtf_client *client, const char *name, ino_t inode);

/* What is there now: RTF_OK fills the verdict, which the caller frees; else RTF_PENDING or RTF_GONE. */
enum rtf_outcome rtf_look(struct rtf_client *client, const struct rtf_wait *wait,
                          struct rtf_verdict *verdict);

/* Sleeps until rtf_look has an answer or there will be none; after rtf_connect, for what was answered by a broker that has ended
 * need not hold any more. */
enum rtf_outcome rtf_wait(struct rtf_client *client, const struct rtf_wait *wait,
                          struct rtf_verdict *verdict);

/* A verdict, or status.json: the whole file, as one object, which the caller frees, and with it *text, unless text is NULL. NULL: there is no such
 * file, or it cannot be an answer. */
json_t *rtf_read_object(int directory, const char *file, char **text);

/* The string at this key of an object; NULL if there is none. Lives as long as the object. */
const char *rtf_string(const json_t *object, const char *key);

void rtf_free_verdict(struct rtf_verdict *verdict);
void rtf_close(struct rtf_client *client);

#endif
