/* What flows through the broker: a reservation, the request that is under way for it, the grant it ends in.
 *
 * A reservation is what a spec, NAME.json of one user's directory, becomes: asked for, refused, or granted. It lives as long as
 * one of these does: its files, its grant, its attachment, a request. Times are microseconds, 0 is "not stated". */
#ifndef RTF_RESERVATION_H
#define RTF_RESERVATION_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/queue.h>
#include <uthash.h>

#include "attachment.h"
#include "loop.h"
#include "reader.h"
#include "snapshot.h"
#include "thread.h"

enum { PLUGINS_MAX = 64 };

/* What the access rules' sums hold of one grant; acl.c's. */
struct counter;
struct charge {
    int count;
    struct charged {
        struct counter *counter;
        uint64_t amount;
    } *parts;
};

/* What a grant holds of another resource than CPU time. */
struct holding {
    struct holding *next;
    struct claim claim;
    int plugin;
    uint64_t ahead; /* before it is granted: what the ledger holds for it beyond what the reservation has already */
    uint64_t aim;   /* desired-amounts.h: the first value that it is to have */
    struct charge charge;
};

/* A plan that is in force. plan.runtime is the accepted runtime Qa, plan.deadline the relative deadline:
 * set when the spec states them, whatever the policy. utilization is 0 without a runtime. Where no CPU time is claimed the
 * plugin is NO_PLUGIN, and there are holdings, or lines of which it has what others leave. */
enum { NO_PLUGIN = -1 };
struct grant {
    int plugin;
    struct attributes plan;
    struct spec spec;
    uint64_t utilization;
    uint64_t aim; /* desired-amounts.h: the runtime that it is to have */
    struct charge charge;
    struct holding *holdings; /* NULL: none */
    uint64_t background;      /* a bit for each line that lets it in without a guarantee: no plugin and no book has heard of that */
};
_Static_assert(PLUGINS_MAX <= 64, "a set of lines is 64 bits");

struct account;
struct lease;
struct share;
struct waiter;
struct request;
struct queue;
struct scan;

/* A directory in specs/.
 *
 *     FOUND ──► ADOPTING ──► ADOPTED     FOUND: its owner has to become known first, or may not have it.
 *       │           │           │        ADOPTING: the adopter has been told to close it to others.
 *       └───────────┴───────────┴──► GONE: kept until the last of its reservations has been released. */
enum directory_state { DIRECTORY_FOUND, DIRECTORY_ADOPTING, DIRECTORY_ADOPTED, DIRECTORY_GONE };

struct user {
    char name[NAME_BYTES];
    uid_t uid;
    uint64_t inode;
    int directory; /* O_PATH: for readers to enter, never to be looked into here; -1 until it is adopted */
    enum directory_state state;
    bool told;                   /* by the adopter that runs now */
    bool scanned;                /* once at least */
    struct timer look;           /* directories.c: to be judged then */
    struct account *of;          /* whose number of directories it is part of; NULL: not adopted */
    struct account *account;
    struct reader reader;
    struct scan *scan;           /* scans.c; NULL */
    struct reservation *reservations;
    TAILQ_ENTRY(user) of_list;
    LIST_ENTRY(user) of_account;
    UT_hash_handle hh; /* by name */
};

/* Which of its files a scan has found; TOLD: and its verdict is the last one. */
enum { OF_JSON = 1, OF_TID = 2, OF_VERDICT = 4, OF_VERDICT_TOLD = 8 };

/* What cannot be told from its grant, its attachment and the files that are judged.
 *
 *     RECOVERED ──► OPEN ◄──► OVER_LIMIT     RECOVERED: granted before a restart or in another boot, and to be asked again.
 *                    │ ▲                     OVER_LIMIT: its user has as many as he may have. It is told so, and forgotten.
 *                    ▼ │                     ENDING: it ends: NAME.json is being removed.
 *      REVOKED, WITHDRAWN ──► ENDING         REVOKED: its owner may have nothing any more; what is granted is about to be taken back.
 *                                            WITHDRAWN: root has ordered so (revoking.h). What is granted is taken back, and then it ends. */
enum reservation_state { RESERVATION_OPEN, RESERVATION_RECOVERED, RESERVATION_OVER_LIMIT, RESERVATION_ENDING, RESERVATION_REVOKED, RESERVATION_WITHDRAWN };

/* Words for programs, which stay what they are: rtf-verdict(5). */
enum why {
    WHY_BAD_SPEC, WHY_NOT_A_MEMBER, WHY_NO_ACCOUNT, WHY_NOT_OPENED, WHY_BEYOND_RULE, WHY_RULE_USED_UP, WHY_TOO_MANY_SPECS, WHY_NO_PLUGIN, WHY_UNSUITABLE,
    WHY_FULL, WHY_RESTARTING, WHY_NEIGHBOUR, WHY_NO_GRANT, WHY_NO_CPU_CLAIM, WHY_NO_THREAD, WHY_NOT_YOURS, WHY_NO_USER_THREAD, WHY_STALE, WHY_ATTACHED_ELSEWHERE,
    WHY_UNCLEAR_THREAD, WHY_STILL_ATTACHED, WHY_KERNEL, WHY_BROKER_STATE, WHY_DRAINING, WHY_BEHIND, WHY_REVOKED
};

/* Why a reservation holds nothing any more: root revoked it, its lease was not renewed, its thread ended, its owner removed the spec, or the broker stopped. The
 * next broker takes up what had only stopped with the broker. The journal has these numbers. */
enum ended { ENDED_NOT, ENDED_REVOKE, ENDED_LEASE, ENDED_THREAD, ENDED_USER, ENDED_BROKER };

/* What its reader will tell: nothing that is known of; that its files have changed, without being asked; the answer to a question. */
enum expected_of_reader { EXPECT_NOTHING, EXPECT_CHANGES, EXPECT_ANSWER };

/* What has changed since the reservation was last looked at: its files, while a request was under way; its thread. */
enum { FILES_CHANGED = 1, THREAD_CHANGED = 2 };

/* The thread has to be made again what was granted, as soon as its owner's file has been seen. */
struct recovery;

struct reservation {
    struct user *user;
    char *token;                         /* of the last spec that was judged; NULL */
    uint64_t task;                       /* its number towards plugins */
    struct stamp judged, judged_tid;     /* the files that have had their answer */
    struct stamp leaving_tid;            /* its reader has been told to remove this one, and has not told since that it has gone */
    struct snapshot *snapshot;           /* what its reader has told of its files and has not been answered; NULL */
    struct open_file json;               /* that came with it */
    struct grant *grant;
    struct attachment *attachment;
    struct share *shares;                /* shares.c: one for each kind of keeper; NULL */
    struct request *request;             /* at most one at a time */
    struct recovery *recovery;           /* reconcile.c; NULL */
    struct account *counted;             /* whose number of reservations it is part of */
    TAILQ_ENTRY(reservation) of_queue;           /* fair-queue.c: to be looked at in turn; */
    struct queue *queue;                   /* NULL: not */
    struct lease *lease;                 /* expiry.c; NULL: it does not end for want of renewal */
    struct waiter *waiter;               /* wait-queue.c; NULL: it does not wait */
    int64_t shared_out;                  /* CLOCK_MONOTONIC: when what it has was last made more or less for others' sake */
    TAILQ_ENTRY(reservation) of_desires;
    int64_t zero_lag;                 /* CLOCK_MONOTONIC: what its last thread used is paid back then */
    int64_t decided;                     /* CLOCK_REALTIME, ns: when what holds now was decided */
    enum reservation_state state;
    enum ended ended;                    /* of one that is ENDING */
    enum expected_of_reader expected;
    uint16_t class;                      /* of its shares; 0: none */
    bool desires, raises;                /* desired-amounts.c: it would rather have more; and there is room for that, as the grant's aims say */
    unsigned char pending_changes;       /* ..._CHANGED */
    unsigned char found;                 /* scans.c: OF_... */
    UT_hash_handle hh;                   /* by name within the user */
    RB_ENTRY(reservation) of_task;       /* by task */
    char name[];
};

enum kind { CREATE, CHANGE, ATTACH, DETACH, RECOVER, UPDATE, EXIT, RELEASE };
enum result { RESULT_OK, SCHEDULE_FAIL, ACL_FAIL, BAD_SPEC, ATTACH_FAIL, RESULT_WAITING };

struct refusal {
    enum why code;
    char by[PLUGIN_NAME_BYTES];  /* a plugin, "access", "kernel", "broker" or "spec"; "" is no refusal */
    char rule[256];              /* "acl.conf:7: @students EDF max_runtime 2000"; or "" */
    char asked[32], available[32];
    uint64_t nearest;            /* of the runtime, us, or of the first value of a claim on `of`; 0 is none */
    enum resource of;
    bool at_least;               /* nearest is the least that would be granted, not the most */
    const struct counter *counter; /* of the rule, whose sum it is; NULL. To be compared only: new rules have others */
    uint64_t lacks;              /* so much less of CPU time in that sum would do; 0: not known */
    bool never;                  /* no other task's end can change the answer */
};

enum answer { ANSWER_OK, ANSWER_PARTIAL, ANSWER_NO, ANSWER_RESTARTING };

struct reply {
    int plugin;
    enum answer answer;
    char reason[256];
};

/* What the owner is told: rtf-verdict(5). */
struct outcome {
    enum kind kind;
    enum result result;
    char reason[REASON_BYTES];
    struct refusal refusal;
    struct reply *replies;
    int reply_count;
    enum ended ended;
    bool dry_run;
    const struct spec *judged;       /* of a dry run: what the rules were asked; NULL: they were not */
    const struct grant *would_grant; /* of a dry run; NULL */
};

#endif
