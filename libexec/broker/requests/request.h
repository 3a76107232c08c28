/* A request under way: what is known so far, and what the request waits for. */
#ifndef RTF_REQUEST_H
#define RTF_REQUEST_H

#include <sys/queue.h>

#include "plugins.h"
#include "reservation.h"

/* The step at which a request is. Only pipeline.c changes it, and draws which step follows
 * which. */
enum step {
    STEP_BEGUN,       /* reconcile.c has looked at the reservation's files */
    STEP_ACCOUNT,     /* is the owner known, and may they reserve anything? */
    STEP_CHOOSE,      /* which plugin may be asked: for the next claim, or for CPU time? */
    STEP_TURN,        /* waits for its turn (turn_take) */
    STEP_CLAIM,       /* the plugin is asked for the claim */
    STEP_ACCEPT,      /* the plugin is asked for CPU time */
    STEP_PROBE,       /* the plugin is asked for another runtime */
    STEP_JUDGE,       /* the neighbours are asked about the plugin's offer */
    STEP_NEXT_PLUGIN, /* the plugin has answered: on to the next */
    STEP_SCHEDULE,    /* the plugin takes its offer into its books */
    STEP_REFUSED,     /* no plugin is left: can anything else be tried? */
    STEP_ROOM,        /* waits until others have given something back */
    STEP_ROUND,       /* something has come free: all plugins are asked again */
    /* the grant is in the books: which thread is attached, and which should be? */
    STEP_ENFORCE,
    STEP_SHARE, /* the helper of a network or disk makes a share of it */
    /* waits until the thread may be attached: use is paid back, or the thread has runtime again */
    STEP_DEBT,
    STEP_RECORD, /* the journal gets the thread before the kernel is asked */
    STEP_APPLY,  /* the attach helper makes the thread real-time */
    STEP_BIND,
    STEP_GIVE,    /* the helper of a network or disk binds the thread to the share */
    STEP_DETACH,  /* the attach helper makes the thread what it was before */
    STEP_LEAVE,   /* waits until the thread can leave its domain */
    STEP_ANSWER,  /* end: the owner gets a verdict */
    STEP_RELEASE, /* end: the reservation holds nothing any more */
    /* end: the thread of an update has ended; its reservation is looked at again */
    STEP_LOOK_AGAIN,
    STEPS
};

/* The result of a step. pipeline.c says which step follows. */
enum step_result {
    IN_PROGRESS, /* the step waits: for an answer, an account, a turn or a time */
    DONE,        /* the step has done its work */
    DECIDED,     /* request->outcome is the answer */

    /* what a reservation's files ask for */
    SPEC_IS_NEW,
    MORE_IS_WANTED,  /* the broker asks for spare capacity */
    THREAD_IS_NAMED, /* NAME.tid names a thread */
    THREAD_IS_KNOWN, /* the journal has the thread, or gets it now */
    LET_GO,          /* the attached thread is to be detached */
    SPEC_IS_GONE,

    /* what the plugins say */
    CLAIM_IS_NEXT, /* a plugin is to be asked for a claim */
    CPU_IS_NEXT,   /* a plugin is to be asked for CPU time */
    NOT_ITS_TURN,
    PART_IS_LEFT, /* all plugins have answered, and one offered a part */
    NO_PLUGIN_LEFT,
    HELD,           /* the claim is held */
    CLAIM_AGAIN,    /* others have given up something of what is claimed */
    SAYS_NO,        /* the plugin, a rule or a neighbour refuses */
    OFFERED,        /* the neighbours are to judge the offer */
    OFFERED_A_PART, /* another plugin may offer all */
    OTHER_RUNTIME,  /* the runtime inquiry.probed may pass */
    LESS_IS_ENOUGH, /* the neighbours can bear inquiry.ceiling, which is enough for the spec */
    /* another plugin's task came while the plugin answered: the same plugin is asked again, once */
    CROSSED,
    AGREED,        /* all neighbours can bear the offer */
    GRANTED,       /* the grant is in all books */
    TRIAL_IS_OVER, /* trial.h */
    CAME_FREE,     /* others have given something back */
    MUST_WAIT,     /* until request->wait.timer */

    /* what the kernel and the helpers say */
    SHARE_IS_DUE, /* a share is to be made, or the thread is to be bound to one */
    NO_CPU_TIME,  /* nothing is to be scheduled */
    AWAKE,        /* the thread slept, and runs now */
    HAS_ENDED,    /* the thread of an update has ended */
    STEP_RESULTS
};

/* The present attempt: claim after claim, and plugin after plugin. Changed in admission/. */
struct inquiry {
    /* the next claim on another resource than CPU time; NULL: all are held */
    const struct claim *claim;
    struct holding *holdings; /* the claims that are held so far */
    bool extras_pass;         /* the rules allow the extras of the spec */
    /* a bit for each line that lets the reservation in without a guarantee */
    uint64_t background;
    int plugin; /* the plugin that is asked, or is the next to be */
    /* this plugin has been asked a second time, because its answer had crossed with another
     * plugin's task */
    bool retried;
    bool commit;             /* this plugin takes what it accepts into its books at once */
    uint64_t least, ceiling; /* the rules' bounds on the runtime, for this plugin */
    struct charge hold;      /* the rules' sums hold this while the plugin is asked */
    /* the first partial offer, or the offer that is taken; with its charge */
    struct grant *partial;
    uint64_t probed; /* the other runtime that is tried; 0: the runtime of the spec */
    int tries;       /* how many other runtimes this plugin was asked for */
    /* how often all plugins were asked again because something had come free meanwhile */
    int rounds;
    uint64_t removals; /* ledger_removals() when this round began */
};

/* The refusals so far: the no of a plugin, and the denial of a rule. Changed by
 * admission/refusals.c, which decides what the owner is told, and by claims.c and ask-plugins.c. */
struct refusals {
    struct no {
        int plugin; /* -1: none has said no */
        bool never; /* no other reservation's end can change the answer */
        enum why code;
        char reason[REASON_BYTES];
    } no;
    struct denial {
        bool is_there, never;
        int plugin; /* the plugin that the rules have closed */
        struct refusal refusal;
        char reason[REASON_BYTES];
    } denial;
    uint64_t nearest; /* the value that would be granted instead; 0: not known */
};

/* The answers of neighbours to an offer. Changed by admission/neighbours.c and ask-plugins.c. */
struct hearing {
    struct grant *offer;
    int judge;    /* the plugin that is asked */
    int objector; /* the first plugin that said no; -1 */
    enum answer objection;
    bool never; /* no other reservation's end can change the objection */
    /* the largest runtime that all objectors could bear; 0: none, or not known */
    uint64_t bearable;
    char reason[256];
};

/* Capacity beyond what reservations need. Changed by admission/spare-capacity.c and trial.c. */
struct spare {
    bool for_more; /* the broker itself asks, for more than the reservation needs */
    uint64_t most; /* the largest runtime to ask for; 0: no bound */
    enum { TRIAL_NONE, TRIAL_RUNS, TRIAL_PASSED, TRIAL_FAILED } trial;
    /* the claim that was refused before the trial; NULL: CPU time was refused */
    const struct claim *tried_from;
    int takes; /* how often others have given up what they do not need */
};

/* How the kernel follows the grant. Changed by activation/apply-grant.c; `old` and `debt` by
 * admission/ask-plugins.c, which books the grant. */
struct activation {
    /* the grant before, which comes back if the kernel refuses the change */
    struct grant *old;
    /* the debt (debt_keep) for the part of `old` beyond the new grant; it may be paid back by
     * now */
    uint64_t debt;
    struct attachment *target; /* the thread to be attached; becomes reservation->attachment */
    /* OUTLIVED: the file means a thread that has ended. TAKEN: another reservation may detach the
     * thread later */
    enum { TARGET_NEVER, TARGET_OUTLIVED, TARGET_TAKEN } why_not;
    bool fresh;           /* the thread was not attached before this request */
    bool has_asked_guard; /* the guard has given up its bandwidth for this thread */
};

/* A wait for a time. Changed by requests/zero-lag-wait.c. */
struct wait {
    struct timer timer;
    bool has_said_so; /* the owner knows of the wait */
    bool patient;     /* the request has waited for capacity that others give up */
    int moments;      /* how often the request has waited for others' requests */
};

/* The comment of each part names the files that change the part; request.c begins and ends all
 * parts. test/parts checks this. */
struct request {
    struct reservation *reservation;
    struct queue *queue;    /* the user's queue (fair-queue.h) */
    struct outcome outcome; /* what is answered */
    enum step step;
    /* the request waits for this answer of a plugin or helper; 0: for none */
    uint64_t answer_id;
    int64_t started;
    struct file json, tid; /* NAME.json and NAME.tid, as the reader has seen them */
    struct spec spec;
    bool has_spec, recorded; /* the spec is valid; the journal has the present state */
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

/* True if the helper has the order to make the thread ordinary: then no grant may be applied to the
 * thread. */
bool request_is_detaching(const struct reservation *reservation);

struct request *request_begin(struct reservation *reservation, enum kind kind);

/* Gives back everything that the request holds, and frees the request. */
void request_drop(struct request *request);

/* New rules: charges again everything that the request holds beyond its reservation's grant. */
struct acl;
void request_charge_again(struct request *request, struct acl *acl);

/* Plugins that judge each other's tasks are asked for one request at a time. A request has the turn
 * from its first question until the request is dropped or can no longer be undone: the answer of
 * one plugin must still hold when all plugins have answered, and when the kernel has refused a
 * change. False: the request waits for its turn. */
bool turn_take(struct request *request);

/* The same for a plan that is tested quickly, that no plugin judges, and that is never put back:
 * any number of such requests pass while no request has the turn or waits for the turn. */
bool turn_pass(struct request *request);
void turn_end(const struct request *request);

/* The request whose turn has come; NULL when there is none. */
struct request *turn_next(void);
bool turn_is_due(void);

/* Sets the answer to the owner; and who refuses, why, and whether waiting cannot help. */
void request_answer(struct request *request, enum result result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void request_refuse(struct request *request, const char *by, enum why code, bool never);

/* Writes an event that explains the verdict. plugin: -1 for none. */
void request_event(const struct request *request, const char *stage, const char *decision,
                   int plugin, const char *reason);

/* The reservation has the spec's token from now on, before it is recorded. */
void request_take_token(struct request *request);

/* Writes the present state into the journal, once for each request. From then on the next broker
 * finds this state after a crash. False with errno. */
bool request_record(struct request *request);

/* True if the owner wrote or touched NAME.json. */
bool request_is_about_its_file(const struct request *request);

/* The request waits for the answer with this id. Both return IN_PROGRESS. */
enum step_result wait_for_plugin(struct request *request, uint64_t id);
enum step_result wait_for_helper(struct request *request, uint64_t id);

/* Take the request that waits for this answer; NULL: no request does. */
struct request *take_waiting_for_plugin(uint64_t id);
struct request *take_waiting_for_helper(uint64_t id);

#endif
