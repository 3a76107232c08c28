/* The user's side of the spool: put a wish there, wait for the broker's answer.
 *
 * One struct rtf_client serves one thread. Its descriptors are closed on exec and freed by rtf_close.
 * Functions return an outcome and never print or exit; unless it is RTF_OK or RTF_PENDING, client->why holds
 * one sentence for people. Texts passed in are borrowed. Times are microseconds. Wish names must satisfy
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
    RTF_NO_BROKER,   /* none runs on this spool, or it ended while we waited */
    RTF_DENIED,      /* this user may not use this spool */
    RTF_TAKEN,       /* a wish of this name exists */
    RTF_TIMEOUT,
    RTF_INTERRUPTED, /* rtf_wait.interrupt became readable */
    RTF_GONE,        /* the wish or its directory is not there (any more) */
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
};

/* The broker's answer, as received and as parsed. */
struct rtf_verdict {
    char *text;
    json_t *json;
};

struct rtf_wait {
    const char *name;
    const char *token; /* the answer must echo it; NULL: must bear the stamps of the files as they are now */
    ino_t inode;       /* watch this wish alone, as rtf_put made it; 0: whatever bears the name */
    bool attached;     /* a thread that is attached only when it wakes is no answer yet */
    uint64_t timeout;  /* 0: none */
    int interrupt;     /* a descriptor, or -1; only polled, so that a pending signal stays pending */
};

/* How a wish may be called; the sentence says it to people. */
#define RTF_NAME_RULE "a name is 1 to 64 of A-Z a-z 0-9 _ . @ : - and starts with a letter, a digit or _"
bool rtf_name_ok(const char *name);

/* A time as typed on a command line: NULL, or the sentence that says what is wrong with it. */
const char *rtf_take_time(const char *text, uint64_t *microseconds);

/* Sixteen random hexadecimal digits: tell the answer to this wish from one to an earlier of the same name. */
bool rtf_make_token(char token[static RTF_TOKEN]);

/* Fills closed standard descriptors, so that nothing opened later is mistaken for them: they stay unreadable
 * and unwritable, and are closed again on exec. For the first line of main. */
void rtf_hold_standard_fds(void);

/* Opens the spool; needs no broker. Whatever the outcome, rtf_close is allowed and needed afterwards. */
enum rtf_outcome rtf_open(struct rtf_client *client, const char *spool);

/* Takes hold of `alive`: RTF_OK, RTF_NO_BROKER, RTF_DENIED or RTF_ERROR, at once. */
enum rtf_outcome rtf_connect(struct rtf_client *client);

/* Finds the caller's own directory: $USER, else the decimal uid, else the account's name; with `create` it is
 * made when missing (otherwise RTF_GONE). */
enum rtf_outcome rtf_enter(struct rtf_client *client, bool create);

/* Makes NAME.json appear with this text in one instant, and never over an existing one (RTF_TAKEN). */
enum rtf_outcome rtf_put(struct rtf_client *client, const char *name, const char *text, ino_t *inode);

/* Removes NAME.json, if it still is this inode, and its answer. */
void rtf_withdraw(const struct rtf_client *client, const char *name, ino_t inode);

/* What is there now: RTF_OK fills the verdict, which the caller frees; else RTF_PENDING or RTF_GONE. */
enum rtf_outcome rtf_look(struct rtf_client *client, const struct rtf_wait *wait,
                          struct rtf_verdict *verdict);

/* Sleeps until rtf_look has an answer or there will be none. Connects by itself, but only if it has to wait:
 * an answer that is there already needs no broker. */
enum rtf_outcome rtf_wait(struct rtf_client *client, const struct rtf_wait *wait,
                          struct rtf_verdict *verdict);

/* The string at this key of an object; NULL if there is none. Lives as long as the object. */
const char *rtf_string(const json_t *object, const char *key);

void rtf_free_verdict(struct rtf_verdict *verdict);
void rtf_close(struct rtf_client *client);

#endif
