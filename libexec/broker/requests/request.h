/* A request under way: the facts known so far, and the answer, turn or time that the request waits
 * for. A neighbour is another plugin whose promises the plugin's plan could break (neighbours.h). A
 * trial asks whether the request would be granted if all other reservations had only what they need
 * (trial.h). A share is the part of a network interface or disk that a grant guarantees (shares.h).
 * A plan is the CPUs, policy, priority and runtime that a plugin offers. */
#ifndef RTF_REQUEST_H
#define RTF_REQUEST_H

#include <sys/queue.h>

#include "plugins.h"
#include "reservation.h"

/* The step of a request. Only pipeline.c changes the step. The order of the steps is drawn
 * there. */
enum step {
    STEP_BEGUN,   /* reconcile.c has compared the reservation's files with its state */
    STEP_ACCOUNT, /* is the owner's account known, and may the owner reserve anything? */
    STEP_CHOOSE,  /* which plugin is asked next, for a claim or for CPU time? */
    STEP_TURN,    /* waits for its turn (turn_take) */
    STEP_CLAIM,   /* the plugin is asked for the claim */
    STEP_ACCEPT,  /* the plugin is asked for CPU time */
    STEP_PROBE,   /* the plugin is asked for another runtime */
    /* the neighbours are asked whether the plugin's offer breaks their promises */
    STEP_JUDGE,
    STEP_NEXT_PLUGIN, /* the plugin has answered: the next plugin is chosen */
    STEP_SCHEDULE,    /* the plugin records its offer as granted */
    /* no plugin grants the request: can taking spare capacity back, or waiting, help? */
    STEP_REFUSED,
    STEP_ROOM,  /* waits until other reservations have given capacity back */
    STEP_ROUND, /* capacity has come free: all plugins are asked again */
    /* the ledger and the plugins have the grant: which thread is attached, and which should be? */
    STEP_ENFORCE,
    STEP_SHARE, /* the helper for network interfaces or disks makes the grant's share */
    /* waits until the thread may be attached: until the CPU time that the former thread used no
     * longer counts (debts.h), or the thread has runtime again */
    STEP_DEBT,
    STEP_RECORD,  /* the journal gets the thread, before the kernel is asked to change it */
    STEP_APPLY,   /* the attach helper makes the thread real-time */
    STEP_BIND,    /* the helper for interfaces or disks binds the thread to the share */
    STEP_GIVE,    /* the attach helper gives the thread what the spec states beside CPU time */
    STEP_DETACH,  /* the attach helper restores the thread's former attributes */
    STEP_LEAVE,   /* waits until the thread can leave its scheduling domain */
    STEP_ANSWER,  /* end: the owner gets a verdict */
    STEP_RELEASE, /* end: the reservation has no grant and no thread any more */
    /* end: the thread that the broker wanted to change has ended: reconcile.c looks at the
     * reservation again */
    STEP_LOOK_AGAIN,
    STEPS
};

/* The result of a step. pipeline.c says which step follows. */
enum step_result {
    IN_PROGRESS, /* the step waits: for an answer, an account, a turn or a time */
    DONE,        /* the step has done its work */
    DECIDED,     /* request->outcome has the answer for the owner */

    /* what a reservation's files ask for */
    SPEC_IS_NEW,
    MORE_IS_WANTED,  /* the broker itself asks for more capacity for the reservation */
    THREAD_IS_NAMED, /* NAME.tid names a thread */
    THREAD_IS_KNOWN, /* the journal has the thread, or gets the thread now */
    LET_GO,          /* the attached thread is to be detached */
    SPEC_IS_GONE,

    /* what the plugins say */
    CLAIM_IS_NEXT, /* a plugin is to be asked for a claim */
    CPU_IS_NEXT,   /* a plugin is to be asked for CPU time */
    NOT_ITS_TURN,
    PART_IS_LEFT, /* all plugins have answered, and a plugin offered less than desired */
    NO_PLUGIN_LEFT,
    HELD, /* the claim was accepted, and the ledger holds its amount */
    /* other reservations have given up some of the claimed resource: the claim is asked again */
    CLAIM_AGAIN,
    SAYS_NO,        /* the plugin, a rule or a neighbour refuses */
    OFFERED,        /* the neighbours are to judge the offer */
    OFFERED_A_PART, /* the plugin offers less than desired: another plugin may offer all */
    OTHER_RUNTIME,  /* the plugin is asked for the runtime inquiry.probed, which may be granted */
    /* the neighbours accept the runtime inquiry.ceiling, which is less, but enough for the spec */
    LESS_IS_ENOUGH,
    /* another plugin got a task while the asked plugin answered: the asked plugin is asked again,
     * once */
    CROSSED,
    AGREED,        /* all neighbours accept the offer */
    GRANTED,       /* the ledger and all plugins concerned have the grant */
    TRIAL_IS_OVER, /* the trial has passed or failed (trial.h) */
    CAME_FREE,     /* other reservations have given capacity back */
    MUST_WAIT,     /* the request waits until request->wait.timer is due */

    /* what the kernel and the helpers say */
    SHARE_IS_DUE, /* a share has to be made, or the thread has to be bound to a share */
    NO_CPU_TIME,  /* the grant has no CPU time, so the thread's scheduling stays */
    AWAKE,        /* the thread slept, and runs now */
    HAS_ENDED,    /* the thread that the broker wanted to change has ended */
    STEP_RESULTS
};

/* The present attempt to find a plugin for each claim, and then for CPU time. Changed in
 * admission/. */
struct inquiry {
    /* the next claim on a resource other than CPU time; NULL: the ledger holds all claims */
    const struct claim *claim;
    struct holding *holdings; /* the claims that the ledger holds so far */
    bool extras_pass;         /* the access rules allow the extras of the spec (given-extras.h) */
    /* a bit for each line of plugins.conf that admits the spec without a guarantee */
    uint64_t background;
    int plugin; /* the plugin that is asked now, or is asked next */
    /* this plugin has been asked a second time, because another plugin got a task while this plugin
     * answered */
    bool retried;
    /* this plugin records the task as granted as soon as it accepts the task */
    bool commit;
    /* the bounds that the guard and the access rules set on the runtime, for this plugin */
    uint64_t least, ceiling;
    /* the charge of the request in the sums of the access rules, while the plugin is asked */
    struct charge hold;
    /* the first offer of less than desired, or the offer that is taken; its charge counts in the
     * sums of the access rules */
    struct grant *partial;
    uint64_t probed; /* the other runtime that is tried; 0: the runtime of the spec */
    /* true: `probed` shall become the least runtime that is granted; false: the largest */
    bool seeks_least;
    int tries; /* the number of other runtimes that this plugin was asked for */
    /* how often all plugins were asked again because capacity had come free meanwhile */
    int rounds;
    /* ledger_removals() when the plugins were asked from the first on; a larger number now means
     * that capacity has come free */
    uint64_t removals;
};

/* The refusals so far: the no of a plugin, and the denial by an access rule. Changed by
 * admission/refusals.c, which chooses the refusal for the verdict, and by claims.c and
 * ask-plugins.c. */
struct refusals {
    struct no {
        int plugin; /* -1: no plugin has refused */
        bool never; /* the plugin refuses whatever other reservations end */
        enum why code;
        char reason[REASON_BYTES];
    } no;
    struct denial {
        bool is_there, never;
        int plugin; /* the plugin that the access rules do not allow */
        struct refusal refusal;
        char reason[REASON_BYTES];
    } denial;
    /* the largest value below the value of the spec that would be granted; 0: not known */
    uint64_t nearest;
    /* the least and the largest runtime above the spec's runtime that would be granted; 0: not
     * known */
    uint64_t least_above, most_above;
};

/* The answers of the neighbours (neighbours.h) to an offer. Changed by admission/neighbours.c and
 * ask-plugins.c. */
struct hearing {
    struct grant *offer;
    int judge;    /* the neighbour that is asked */
    int objector; /* the first neighbour that refused; -1: no neighbour has refused */
    enum answer objection;
    bool never; /* the neighbour refuses whatever other reservations end */
    /* the largest runtime that all refusing neighbours would accept; 0: no runtime, or not known */
    uint64_t bearable;
    char reason[256];
};

/* Spare capacity, which no reservation needs (spare-capacity.h). Changed by
 * admission/spare-capacity.c and trial.c. */
struct spare {
    /* the broker itself asks for more than the reservation needs, to share out spare capacity */
    bool for_more;
    uint64_t most; /* the largest runtime to ask for; 0: no bound */
    enum { TRIAL_NONE, TRIAL_RUNS, TRIAL_PASSED, TRIAL_FAILED } trial;
    /* the refused claim that the trial is about; NULL: the refusal was about CPU time */
    const struct claim *tried_from;
    /* how often other reservations have given up, for this request, capacity that they do not
     * need */
    int takes;
};

/* The steps that give the thread its grant. Changed by activation/apply-grant.c; `old` and `debt`
 * by admission/ask-plugins.c, which adds the grant to the ledger. */
struct activation {
    /* the former grant, which is in force again if the kernel refuses the change */
    struct grant *old;
    /* The part of `old` that the new grant lacks is a debt. This is the debt's task number, from
     * debt_keep; 0: there is no debt. The debt may have ended meanwhile. */
    uint64_t debt;
    /* the thread that shall be attached; becomes reservation->attachment */
    struct attachment *target;
    /* NEVER: no change of other reservations can help. OUTLIVED: the file names a thread that has
     * ended. TAKEN: another reservation has the thread, and may detach it later */
    enum { TARGET_NEVER, TARGET_OUTLIVED, TARGET_TAKEN } why_not;
    bool fresh; /* the thread was not attached before this request */
    /* the guard was asked to give up its bandwidth for this thread (guard_yield) */
    bool has_asked_guard;
};

/* A wait for a time. Changed by requests/zero-lag-wait.c. */
struct wait {
    struct timer timer;
    bool has_said_so; /* a verdict has told the owner of the wait */
    /* the request waits no more for capacity that other reservations are giving back */
    bool patient;
    /* the time when all debts are paid back that were there at the request's first wait, ns; 0: the
     * request has not waited for debts yet */
    int64_t debts_until;
    int moments; /* how often the request has waited for requests of other reservations */
};

/* The comment of each part of a request names the files that may change this part; request.c begins
 * and ends all parts. test/parts checks that no other file changes a part. */
struct request {
    struct reservation *reservation;
    struct queue *queue;    /* the user's queue (fair-queue.h) */
    struct outcome outcome; /* the content of the verdict */
    enum step step;
    /* the id of the answer of a plugin or helper that the request waits for; 0: the request waits
     * for no answer */
    uint64_t answer_id;
    int64_t started;
    struct file json, tid; /* NAME.json and NAME.tid, as the reader has seen them */
    struct spec spec;
    /* has_spec: the spec is valid; recorded: the journal has the present state */
    bool has_spec, recorded;
    struct inquiry inquiry;
    struct refusals refusals;
    struct hearing hearing;
    struct spare spare;
    struct activation activation;
    struct wait wait;
    TAILQ_ENTRY(request) of_turn;
    TAILQ_ENTRY(request) of_account;
    UT_hash_handle hh; /* by answer_id */
};

/* True if the attach helper has the order to restore the thread's former attributes: then no grant
 * may be applied to the thread. */
bool request_is_detaching(const struct reservation *reservation);

struct request *request_begin(struct reservation *reservation, enum kind kind);

/* Releases the claims, charges and offers that the request holds, and frees the request. */
void request_drop(struct request *request);

/* Call this when new access rules come into force: charges again the claims and offers that the
 * request holds beyond its reservation's grant. */
struct acl;
void request_charge_again(struct request *request, struct acl *acl);

/* Plugins that judge each other's tasks are asked for one request at a time. A request has the turn
 * from its first question until the request is dropped or can no longer be undone. The reason is
 * that the answer of one plugin must still hold when the other plugins have answered, and when the
 * kernel refuses the change. False: the request waits for its turn. */
bool turn_take(struct request *request);

/* Like turn_take, but for a request whose plan is tested quickly, is judged by no neighbour, and is
 * never undone. While no request has the turn or waits for the turn, any number of such requests go
 * on, and none of them takes the turn. */
bool turn_pass(struct request *request);
void turn_end(const struct request *request);

/* Gives the turn to the next request, and returns this request. NULL: the turn is not free, or no
 * request waits for it. */
struct request *turn_next(void);
bool turn_is_due(void);

/* request_answer sets the result and the reason of the verdict. request_refuse sets the part of the
 * system that refuses (`by`), the code, and `never`: waiting cannot help. */
void request_answer(struct request *request, enum result result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void request_refuse(struct request *request, const char *by, enum why code, bool never);

/* Sets the answer to the owner, which says why the thread cannot be attached. */
#define refuse_thread(request, why, ...)                \
    (request_answer(request, ATTACH_FAIL, __VA_ARGS__), \
     (void)((request)->outcome.refusal.code = (why)))

/* Writes an event that explains the verdict. plugin: -1: the event is about no plugin. */
void request_event(const struct request *request, const char *stage, const char *decision,
                   int plugin, const char *reason);

/* Gives the spec's token to the reservation now, before the journal has the request. */
void request_take_token(struct request *request);

/* Writes the reservation's present state into the journal, once for each request. After a crash,
 * the next broker goes on from this state. False: errno says why. */
bool request_record(struct request *request);

/* True if the request exists because the owner wrote or touched NAME.json. */
bool request_is_about_its_file(const struct request *request);

/* Both functions make the request wait for the answer with this id, and return IN_PROGRESS. */
enum step_result wait_for_plugin(struct request *request, uint64_t id);
enum step_result wait_for_helper(struct request *request, uint64_t id);

/* Each function returns the request that waits for the answer with this id, and ends its wait.
 * NULL: no request waits for this answer. */
struct request *take_waiting_for_plugin(uint64_t id);
struct request *take_waiting_for_helper(uint64_t id);

#endif
