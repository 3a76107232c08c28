/* The rows of rtf-top(1): reservations, and the CPU time that their threads use, from the kernel.
 * The user's own reservations are read from their verdicts; inotify(7) tells which files have
 * changed, and only the changed files are read again. The reservations of all users are read from
 * the broker's journal (read-journal.h). */
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
    /* the guard makes the thread ordinary when its runtime is used up, until the next period; an
     * ordinary thread may use idle time */
    bool is_held;
    uint64_t share;       /* granted, billionths of a CPU; 0: the spec states no runtime */
    pid_t tid;            /* 0: none */
    int schedstat;        /* the open file /proc/TID/schedstat; -1: not open */
    uint64_t ran, waited; /* ns since the thread began, at the time `looked` */
    int64_t looked;       /* CLOCK_MONOTONIC, ns, of the last refresh; 0: none yet */
    uint64_t uses, waits; /* between the last two refreshes: billionths of a CPU */
    unsigned over; /* how many times the thread used more than granted between two refreshes */
    bool is_news;  /* the row is in the list of rows whose files are to be read again */
    struct row *next_news;
    UT_hash_handle hh; /* the table of the owner's rows; the key is the name */
};

/* A user and the user's directory in specs/. Only the caller's own directory is opened. */
struct member {
    char *name;
    uid_t uid; /* (uid_t)-1: not known */
    int directory, watch;
    struct row *rows;
    bool scan;         /* the whole directory is to be read again */
    UT_hash_handle hh; /* the table of all members; the key is the watch */
};

enum row_order {
    BY_NAME,
    BY_USER,
    BY_PLUGIN,
    BY_SHARE,
    BY_USE,
    BY_RATIO,
    BY_WAIT,
    BY_OVER,
    BY_TID,
    ROW_ORDERS
};

/* Begins to read the rows of all users (`all`) or of the caller. Returns 0; on an error returns the
 * exit status and sets *why to the reason. */
int rows_open(struct client *client, bool all, const char **why);

bool rows_are_everybodys(void);

/* Notes which files have changed. True: status.json has changed. Does not block. */
bool rows_take_events(void);

/* Reads the files that have changed, and the CPU time of the threads. `now` is CLOCK_MONOTONIC,
 * ns. */
void rows_refresh(int64_t now);

/* Returns the rows in this order: all rows, or with `attached` only the rows that have a thread.
 * The array is valid until the next call of a function of this header. */
struct row *const *rows_sorted(enum row_order order, bool reverse, bool attached, size_t *count);

/* Takes "plugins" of rtf-status(5). The rows need to know which plugins have "enforce": "runtime":
 * rtf-guard makes the threads of these plugins ordinary when their runtime is used up. */
void rows_take_plugins(const json_t *plugins);

/* Returns how much of its share a thread uses, in thousandths. The result is at most ROW_ALL if the
 * guard holds the thread to its runtime (is_held). */
enum { ROW_ALL = 1000 };
uint64_t row_ratio(const struct row *row);

#endif
