/* An account has the answer of the account database about a uid, and the data that all directories
 * of this uid share. */
#ifndef RTF_ACCOUNT_H
#define RTF_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "fair-queue.h"
#include "reservation.h"

enum account_state { ACCOUNT_UNKNOWN, ACCOUNT_ASKED, ACCOUNT_KNOWN, ACCOUNT_FAILED };

TAILQ_HEAD(request_list, request);

/* Each uid that has a directory has an account here. Some uids without a directory have one, too,
 * while their answers are fresh. */
struct account {
    uid_t uid;
    enum account_state state;
    /* when the answer comes, reload.c checks whether this account may still have reservations */
    bool in_doubt;
    /* the answer has several paragraphs, and the broker waits for more of them */
    bool learning;
    char *name;    /* NULL: the database has no such account */
    char **groups; /* names of groups, NULL at the end; NULL: no account */
    gid_t *gids;
    int gid_count;
    int64_t asked;        /* when the database was asked: CLOCK_MONOTONIC, ns */
    uint64_t files_stamp; /* identifies the state of /etc/passwd and /etc/group at that time */
    /* number of reservations that count against --max-specs; those of all accounts without a name
     * count together, in account_bucket */
    int reservations;
    /* the account whose log budget pays for this account's lines; NULL: this account pays itself */
    struct account *log_of;
    int64_t log_window; /* log-budget.c: the beginning of the window in which log_bytes counts */
    uint64_t log_bytes, log_left_out;
    /* trial-cost.c: until this time the account pays for its earlier trials (trial.h);
     * CLOCK_MONOTONIC, ns */
    int64_t trials_until;
    int64_t rare_window;
    unsigned rare_count;
    LIST_HEAD(, user) users; /* the directories of this uid */
    /* number of directories that refer to this account, also of removed directories that still have
     * something to end */
    unsigned held;
    int directories;                         /* number of adopted directories */
    TAILQ_HEAD(waiter_list, waiter) waiters; /* the specs that wait for room (wait-queue.c) */
    TAILQ_ENTRY(account) of_waiters;
    struct queue queue;          /* reservations whose turn is to come */
    struct request_list waiting; /* requests that wait for the database's answer */
    UT_hash_handle hh;
};

#endif
