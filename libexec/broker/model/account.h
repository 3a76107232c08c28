/* What is known of a uid, and what all of its users share. */
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

/* One for each uid that has a directory, and of late for others. */
struct account {
    uid_t uid;
    enum account_state state;
    bool in_doubt;         /* whether it may have anything any more is to be seen when it is known */
    bool learning;         /* its answer is of several paragraphs, and the last is not here yet */
    char *name;            /* NULL: no such account */
    char **groups;         /* their names, NULL at the end; NULL without account */
    gid_t *gids;
    int gid_count;
    int64_t asked;         /* CLOCK_MONOTONIC, ns */
    uint64_t files_stamp;  /* of /etc/passwd and /etc/group then */
    int reservations;            /* counted against the limit; for accounts without a name see account_bucket */
    struct account *log_of; /* the account to whose log budget its lines are charged; NULL: this one */
    int64_t log_window; /* event.c: of what is written of its users */
    uint64_t log_bytes, log_left_out;
    int64_t trials_until;  /* CLOCK_MONOTONIC: trial.c, when its trials so far are paid for */
    int64_t rare_window;
    unsigned rare_count;
    LIST_HEAD(, user) users; /* its directories */
    unsigned held;         /* by so many directories, those included that are gone and still have something to end */
    int directories;       /* that are adopted */
    TAILQ_HEAD(waiter_list, waiter) waiters; /* wait-queue.c */
    TAILQ_ENTRY(account) of_waiters;
    struct queue queue;      /* its reservations that are to be looked at */
    struct request_list waiting; /* requests that wait for the account */
    UT_hash_handle hh;
};

#endif
