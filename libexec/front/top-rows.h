/* What rtf-top(1) shows: reservations, and what their threads use, as the kernel counts. One's own are as their verdicts say; inotify tells what changed,
 * and only that is read again. Those of all users are as the broker's journal says (journal.h), of which only what is new is read. */
#ifndef RTF_TOP_ROWS_H
#define RTF_TOP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uthash.h>

#include "client.h"

enum row_state { ROW_ASKED, ROW_REFUSED, ROW_GRANTED, ROW_PENDING, ROW_ATTACHED };
enum { WORD_BYTES = 34, CPUS_BYTES = 64 };

struct member;
struct row {
    char name[CLIENT_NAME_MAX + 1];
    struct member *owner;
    enum row_state state;
    char plugin[WORD_BYTES], policy[WORD_BYTES], cpus[CPUS_BYTES], command[WORD_BYTES];
    int priority;              /* 0: none */
    uint64_t runtime, period;  /* us; 0: none */
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

/* Of all users, or of the caller. False: *why. */
bool rows_open(struct client *client, bool all, const char **why);

/* What has changed is noted. True if status.json has. */
bool rows_take_events(void);

/* Reads what has changed; looks at the threads. Once a second. */
void rows_refresh(int64_t now);

/* All, or those with a thread, in that order; valid until the next call of a function here. */
struct row *const *rows_sorted(enum row_order order, bool reverse, bool attached, size_t *count);

/* How much of what is granted it uses, in thousandths. */
uint64_t row_ratio(const struct row *row);

#endif
