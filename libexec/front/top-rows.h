/* What rtf-top(1) shows: reservations, and what their threads use, as the kernel counts. One's own are as their verdicts say; inotify tells what changed,
 * and only that is read again. Those of all users are as the broker's journal says (journal.h), of which only what is new is read. */
#ifndef RTF_TOP_ROWS_H
#define RTF_TOP_ROWS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#include "client.h"
#include "states.h"

enum { WORD_BYTES = 34, COMMAND_BYTES = 100 };

struct member;
struct row {
    char name[CLIENT_NAME_MAX + 1];
    struct member *owner;
    enum state state;
    struct shown_grant grant;
    char plugin[WORD_BYTES], command[COMMAND_BYTES];
    bool is_held;              /* to its runtime: what it uses beyond, it uses as an ordinary thread */
    uint64_t share;            /* granted, billionths of a CPU; 0: not declared */
    pid_t tid;                 /* 0: none */
    int schedstat;             /* its open file; -1 */
    uint64_t ran, waited;      /* ns, when it was last looked at, */
    int64_t looked;            /* which was then; 0: never */
    uint64_t uses, waits;      /* since the time before: billionths of a CPU */
    unsigned over;             /* how often it used more than was granted from one look to the next */
    bool is_news;              /* to be read again */
    struct row *next_news;
    UT_hash_handle hh;         /* by name within its owner */
};

/* A directory in specs/; the caller's own is open. */
struct member {
    char *name;
    uid_t uid;             /* (uid_t)-1: not known */
    int directory, watch;
    struct row *rows;
    bool scan;                 /* look at all of it again */
    UT_hash_handle hh;         /* by watch */
};

enum row_order { BY_NAME, BY_USER, BY_PLUGIN, BY_SHARE, BY_USE, BY_RATIO, BY_WAIT, BY_OVER, BY_TID, ROW_ORDERS };

/* Of all users, or of the caller. Returns 0, or what to end with, for the reason *why. */
int rows_open(struct client *client, bool all, const char **why);

bool rows_are_everybodys(void);

/* What has changed is noted. True if status.json has. */
bool rows_take_events(void);

/* Reads what has changed; looks at the threads. Once a second. */
void rows_refresh(int64_t now);

/* All, or those with a thread, in that order; valid until the next call of a function here. */
struct row *const *rows_sorted(enum row_order order, bool reverse, bool attached, size_t *count);

/* Which plugins hold threads to their runtimes: "plugins" of rtf-status(5). */
void rows_take_plugins(const json_t *plugins);

/* How much of what is granted it uses, in thousandths; no more than all of it where it is held to that. */
enum { ROW_ALL = 1000 };
uint64_t row_ratio(const struct row *row);

#endif
