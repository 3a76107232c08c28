/* A reservation and its grant.
 *
 * The broker has a reservation for each spec, the file NAME.json in a user's directory. The
 * reservation may be asked for, refused or granted. It exists as long as any of these exists: its
 * files, its grant, its attachment, a request. Times are microseconds; 0: the spec does not state
 * this time. */
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

/* The amounts with which one grant counts in the sums of the access rules (acl-weight.c). */
struct counter;
struct charge {
    int count;
    struct charged {
        struct counter *counter;
        uint64_t amount;
    } * parts;
};

/* A share of a resource other than CPU time, as part of a grant. */
struct holding {
    struct holding *next;
    struct claim claim;
    int plugin;
    /* during admission: the amount that the ledger holds beyond the reservation's present share */
    uint64_t ahead;
    /* the amount that the holding shall get (desired-amounts.h), in the unit of claim.values[0] */
    uint64_t aim;
    struct charge charge;
};

/* A grant in force. plan.runtime is the accepted runtime Qa of the ReTiF paper, plan.deadline the
 * relative deadline. Both are set when the spec states them, under every policy. utilization is 0
 * without a runtime. A grant without CPU time has the plugin NO_PLUGIN, and has holdings,
 * background lines or extras. */
enum { NO_PLUGIN = -1 };
struct grant {
    int plugin;
    /* the uid of the owner, so that a plugin knows which tasks belong to the same user */
    uint64_t owner;
    struct attributes plan;
    struct spec spec;
    uint64_t utilization;
    uint64_t aim; /* the runtime that the grant shall get (desired-amounts.h) */
    struct charge charge;
    struct holding *holdings; /* NULL: none */
    /* a bit for each line of plugins.conf that admits the grant without a guarantee: the plugin of
     * such a line and the ledger do not count the grant */
    uint64_t background;
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
 *     FOUND ──► ADOPTING ──► ADOPTED     FOUND: the account of the owner is not known yet, or the owner may not have the directory.
 *       │           │           │        ADOPTING: the adopter has the order to close the directory to other users.
 *       └───────────┴───────────┴──► GONE: the directory is removed. The record stays until its last reservation is released. */
enum directory_state { DIRECTORY_FOUND, DIRECTORY_ADOPTING, DIRECTORY_ADOPTED, DIRECTORY_GONE };

struct user {
    char name[NAME_BYTES];
    uid_t uid;
    uint64_t inode;
    /* O_PATH, for readers to enter; the broker never looks into it; -1: not adopted */
    int directory;
    enum directory_state state;
    bool told;         /* the adopter that runs now has reported the directory */
    bool scanned;      /* a reader has looked through the directory at least once */
    struct timer look; /* when directories.c decides again about the directory */
    /* the account that counts this directory; NULL: not adopted */
    struct account *of;
    struct account *account;
    struct reader reader;
    struct scan *scan; /* the scan under way (scans.c); NULL: none */
    struct reservation *reservations;
    unsigned awaiting; /* reservations that await a thread */
    TAILQ_ENTRY(user) of_list;
    LIST_ENTRY(user) of_account;
    UT_hash_handle hh; /* by name */
};

/* Which files of the reservation a scan has found. OF_VERDICT_TOLD: the file has the latest
 * verdict. */
enum { OF_JSON = 1, OF_TID = 2, OF_VERDICT = 4, OF_VERDICT_TOLD = 8 };

/* The state of a reservation, beside its grant, its attachment and its judged files.
 *
 *     RECOVERED ──► OPEN ◄──► OVER_LIMIT     RECOVERED: granted by an earlier broker. The plugins have to be asked again.
 *                    │ ▲                     OVER_LIMIT: the user has --max-specs reservations already. The verdict says that the limit is reached, and the broker forgets the reservation.
 *                    ▼ │                     ENDING: the reader removes NAME.json.
 *      REVOKED, WITHDRAWN ──► ENDING         REVOKED: the owner may have no reservations any more. The grant is about to be taken back.
 *                                            WITHDRAWN: root has revoked the reservation (revoking.h). The grant is taken back; then the reservation ends. */
enum reservation_state {
    RESERVATION_OPEN,
    RESERVATION_RECOVERED,
    RESERVATION_OVER_LIMIT,
    RESERVATION_ENDING,
    RESERVATION_REVOKED,
    RESERVATION_WITHDRAWN
};

/* The codes of refusals, stable words for programs: rtf-verdict(5). */
enum why {
    WHY_BAD_SPEC,
    WHY_NOT_A_MEMBER,
    WHY_NO_ACCOUNT,
    WHY_NOT_OPENED,
    WHY_BEYOND_RULE,
    WHY_RULE_USED_UP,
    WHY_TOO_MANY_SPECS,
    WHY_NO_PLUGIN,
    WHY_UNSUITABLE,
    WHY_FULL,
    WHY_RESTARTING,
    WHY_NEIGHBOUR,
    WHY_NO_GRANT,
    WHY_NO_CPU_CLAIM,
    WHY_NO_THREAD,
    WHY_NOT_YOURS,
    WHY_NO_USER_THREAD,
    WHY_STALE,
    WHY_ATTACHED_ELSEWHERE,
    WHY_UNCLEAR_THREAD,
    WHY_STILL_ATTACHED,
    WHY_KERNEL,
    WHY_BROKER_STATE,
    WHY_DRAINING,
    WHY_BEHIND,
    WHY_REVOKED
};

/* Why a reservation holds nothing any more: root revoked it, its lease was not renewed, its thread
 * ended, its owner removed the spec, or the broker stopped. Reservations that stopped only with the
 * broker are taken over by the next broker. The journal has these numbers. */
enum ended { ENDED_NOT, ENDED_REVOKE, ENDED_LEASE, ENDED_THREAD, ENDED_USER, ENDED_BROKER };

/* The message that the broker expects from the reader for this reservation: no message; a report
 * that files have changed; the answer to a question. */
enum expected_of_reader { EXPECT_NOTHING, EXPECT_CHANGES, EXPECT_ANSWER };

/* Changes since the last look at the reservation: of its files, during a request; of its thread. */
enum { FILES_CHANGED = 1, THREAD_CHANGED = 2 };

/* A correction of the thread, which reconcile.c begins as soon as the reader has reported the
 * owner's file. */
struct recovery;

struct reservation {
    struct user *user;
    /* the token of the last spec that was judged; NULL: it had no token */
    char *token;
    uint64_t task;                   /* the task's number in the plugin protocol */
    struct stamp judged, judged_tid; /* the files that the last answer is about */
    /* the reader has the order to remove this NAME.tid, and has not reported the removal */
    struct stamp leaving_tid;
    /* the reader's last report of the files, which the broker has not answered yet; NULL: no such
     * report */
    struct snapshot *snapshot;
    struct open_file json; /* the open NAME.json of this report */
    struct grant *grant;
    struct attachment *attachment;
    /* a list with one share for each kind of helper (shares.c); NULL: no share */
    struct share *shares;
    struct request *request; /* at most one at a time */
    /* the correction that waits for the reader (reconcile.c); NULL: none */
    struct recovery *recovery;
    /* the account that counts this reservation against --max-specs */
    struct account *counted;
    TAILQ_ENTRY(reservation) of_queue; /* links the queue (fair-queue.c) */
    struct queue *queue;               /* the queue that the reservation waits in; NULL: none */
    /* the lease (expiry.c); NULL: the spec has no key "expires" */
    struct lease *lease;
    /* the place in the wait queue (wait-queue.c); NULL: the spec does not wait for room */
    struct waiter *waiter;
    /* when spare-capacity.c last changed the grant: CLOCK_MONOTONIC, ns */
    int64_t shared_out;
    TAILQ_ENTRY(reservation) of_desires;
    int64_t zero_lag; /* the 0-lag time of the last thread: CLOCK_MONOTONIC, ns */
    /* when the present grant was decided: CLOCK_REALTIME, ns */
    int64_t decided;
    enum reservation_state state;
    enum ended ended; /* in the state ENDING: why the reservation ends */
    enum expected_of_reader expected;
    /* the number by which the network and disk helpers know this reservation (shares.h); 0: it has
     * no share */
    uint16_t class;
    /* desires: the spec desires more than it needs (desired-amounts.c); raises: the aims of the
     * grant are higher than the grant */
    bool desires, raises;
    /* the thread that the files name is leaving another reservation (reservation_await_thread) */
    bool awaits_thread;
    unsigned char pending_changes; /* FILES_CHANGED and THREAD_CHANGED */
    /* the files that a scan has found: OF_JSON and so on (scans.c) */
    unsigned char found;
    UT_hash_handle hh;             /* by name within the user */
    RB_ENTRY(reservation) of_task; /* by task */
    char name[];
};

enum kind { CREATE, CHANGE, ATTACH, DETACH, RECOVER, UPDATE, EXIT, RELEASE };
enum result { RESULT_OK, SCHEDULE_FAIL, ACL_FAIL, BAD_SPEC, ATTACH_FAIL, RESULT_WAITING };

enum { OTHER_BYTES = 360 };

struct refusal {
    enum why code;
    /* a plugin, "access", "kernel", "broker" or "spec"; "": no refusal */
    char by[PLUGIN_NAME_BYTES];
    char rule[256]; /* "acl.conf:7: @students EDF max_runtime 2000"; or "" */
    char asked[32], available[32];
    /* the largest runtime that fits, us, or the first value of a claim on `of`; 0: none */
    uint64_t nearest;
    /* the runtime is too small: the least runtime that fits, us; 0: the runtime is not too small,
     * or none fits */
    uint64_t nearest_minimum;
    enum resource of;
    /* the sum of the rule, or NULL. This pointer may only be compared, and never followed, because
     * a reload frees the counters */
    const struct counter *counter;
    /* the sum has to become this much smaller for a grant, in units of utilization; 0: not known */
    uint64_t lacks;
    bool never; /* the end of other tasks cannot change the answer */
    /* a second refusal for the owner, by a plugin that tests nothing, or by the rule that forbids a
     * plugin that tests (refusals.c); or "" */
    char other[OTHER_BYTES];
};

enum answer { ANSWER_OK, ANSWER_PARTIAL, ANSWER_NO, ANSWER_RESTARTING };

struct reply {
    int plugin;
    enum answer answer;
    char reason[256];
};

/* The content of a verdict: rtf-verdict(5). */
struct outcome {
    enum kind kind;
    enum result result;
    char reason[REASON_BYTES];
    struct refusal refusal;
    struct reply *replies;
    int reply_count;
    enum ended ended;
    bool dry_run;
    /* dry run: the spec that the rules judged; NULL: the rules judged no spec */
    const struct spec *judged;
    /* dry run: the grant that the spec would have; NULL: no grant */
    const struct grant *would_grant;
};

#endif
