/* A request that is under way: what is known of it so far, and what it waits for. */
#ifndef RTF_REQUEST_H
#define RTF_REQUEST_H

#include <sys/queue.h>

#include "plugins.h"
#include "reservation.h"

/* Where a request is: pipeline.c draws what follows what, and is the only one that changes this. */
enum step {
    STEP_BEGUN,       /* reconcile.c has looked at the reservation's files */
    STEP_ACCOUNT,     /* is the owner known, and may they reserve anything? */
    STEP_CHOOSE,      /* which plugin may be asked: for the next claim, or for CPU time? */
    STEP_TURN,        /* waits until no other request is judged by neighbours */
    STEP_CLAIM,       /* the plugin is asked for the claim */
    STEP_ACCEPT,      /* the plugin is asked for CPU time */
    STEP_PROBE,       /* the plugin is asked for another runtime */
    STEP_JUDGE,       /* the neighbours are asked about the plugin's offer */
    STEP_NEXT_PLUGIN, /* the plugin has had its say */
    STEP_SCHEDULE,    /* the plugin takes its offer into its books */
    STEP_REFUSED,     /* no plugin is left: is there anything else to try? */
    STEP_ROOM,        /* waits until others have given something back */
    STEP_ROUND,       /* something has come free: all plugins are asked again */
    STEP_ENFORCE,     /* the grant is in the books: which thread is attached, and which should be? */
    STEP_SHARE,       /* the helper of a network or disk makes a share of it */
    STEP_DEBT,        /* waits until the thread may be attached: use is paid back, or the thread has runtime again */
    STEP_RECORD,      /* the journal first */
    STEP_APPLY,       /* the attach helper makes the thread real-time */
    STEP_BIND,        /* the helper of a network or disk binds the thread to the share */
    STEP_DETACH,      /* the attach helper makes the thread what it was before */
    STEP_LEAVE,       /* waits until the thread can leave its domain */
    STEP_ANSWER, STEP_RELEASE, STEP_LOOK_AGAIN, /* the ends: the verdict; nothing is left; the broker alone wanted it, and looks once more */
    STEPS
};

/* What has come of a step. */
enum step_result {
    IN_PROGRESS, /* nothing yet: it waits for an answer, an account, its turn or a time */
    DONE,        /* what the step is for */
    DECIDED,     /* request->outcome is the answer */

    SPEC_IS_NEW, MORE_IS_WANTED, THREAD_IS_NAMED, THREAD_IS_KNOWN, SPEC_IS_GONE, /* BEGUN: the files ask for this */
    LET_GO,          /* the attached thread is to be detached */

    CLAIM_IS_NEXT, CPU_IS_NEXT, PART_IS_LEFT, NO_PLUGIN_LEFT, NOT_ITS_TURN, /* CHOOSE: the plugin is asked for that; only a part was offered; ... */
    HELD,            /* the claim is */
    CLAIM_AGAIN,     /* others have given something up for the claim: its plugins are asked again */
    SAYS_NO,         /* the plugin, a rule or a neighbour */
    OFFERED,         /* and the neighbours have to agree */
    OFFERED_A_PART,  /* other plugins may offer all */
    OTHER_RUNTIME,   /* inquiry.probed may pass */
    LESS_IS_ENOUGH,  /* within inquiry.ceiling the neighbours would agree */
    CROSSED,         /* the answer crossed with another plugin's task: the same plugin is asked again, once */
    AGREED,          /* the neighbours do */
    GRANTED,         /* in all books */
    TRIAL_IS_OVER,   /* trial.h */
    CAME_FREE,       /* something of what others held */
    MUST_WAIT,       /* request->wait has the time */

    SHARE_IS_DUE, NO_CPU_TIME, AWAKE, /* ENFORCE; RECORD: nothing to schedule; APPLY: the thread has woken meanwhile */
    HAS_ENDED,       /* the thread, and nobody but the broker has asked */
    STEP_RESULTS
};

/* What is tried for the request: claim after claim, and plugin after plugin. Changed in admission/. */
struct inquiry {
    const struct claim *claim;  /* the next claim on another resource than CPU time; NULL: all are held */
    struct holding *holdings;   /* what is held by now */
    uint64_t background;        /* a bit for each line that lets the reservation in without a guarantee */
    int plugin;                 /* the plugin that is asked, or is the next to be */
    bool retried;               /* this plugin has been asked a second time, because its answer had crossed with another plugin's task */
    bool commit;                /* this plugin takes what it accepts into its books at once */
    uint64_t least, ceiling;    /* the rules' bounds on the runtime, for this plugin */
    struct charge hold;         /* charged to the rules' sums while this plugin is asked */
    struct grant *partial;      /* the first that was offered in part, with its charge */
    uint64_t probed;            /* the other runtime that is tried; 0: the runtime of the spec */
    int tries;                  /* of other runtimes */
    int rounds;                 /* how often all plugins were asked again because something had come free meanwhile */
    uint64_t removals;          /* ledger_removals() when this round began */
};

/* What speaks against the request so far: the no of a plugin, and the denial of a rule. Changed by admission/refusals.c, which decides what the owner is told, and
 * by claims.c and ask-plugins.c. */
struct refusals {
    struct no {
        int plugin;             /* -1: none has said no */
        bool never;             /* no other reservation's end can change it */
        enum why code;
        char reason[REASON_BYTES];
    } no;
    struct denial {
        bool is_there, never;
        int plugin;             /* the plugin that the rules have closed */
        struct refusal refusal;
        char reason[REASON_BYTES];
    } denial;
    uint64_t nearest;           /* what would be granted instead; 0: not known */
};

/* What the neighbours of the plugin that offered say of the offer. Changed by admission/neighbours.c and ask-plugins.c. */
struct hearing {
    struct grant *offer;
    int judge;                  /* the plugin that is asked */
    int objector;               /* the first plugin that said no; -1 */
    enum answer objection;
    bool never;                 /* no other reservation's end can change it */
    uint64_t bearable;          /* the runtime that all plugins that said no could bear; 0: none, or not known */
    char reason[256];
};

/* Capacity beyond what reservations need. Changed by admission/spare-capacity.c and trial.c. */
struct spare {
    bool for_more;              /* the broker asks by itself: the reservation is to have more than it needs, */
    uint64_t most;              /* but no larger runtime than this; 0: no bound */
    enum { TRIAL_NONE, TRIAL_RUNS, TRIAL_PASSED, TRIAL_FAILED } trial;
    const struct claim *tried_from; /* the claim that was refused before the trial; NULL: it was CPU time */
    int takes;                  /* how often others have given up what they do not need */
};

/* How the kernel follows the grant. Changed by activation/apply-grant.c; `old` and `debt` by admission/ask-plugins.c, which books the grant. */
struct activation {
    struct grant *old;          /* put back when the kernel refuses the change */
    uint64_t debt;              /* debt_keep of what `old` has beyond the new grant; it may be over by now */
    struct attachment *target;  /* the thread to be attached; becomes reservation->attachment */
    enum { TARGET_NEVER, TARGET_OUTLIVED, TARGET_TAKEN } why_not; /* OUTLIVED: its key names a thread of another boot; TAKEN: that can change */
    bool fresh;                 /* the thread was not attached before this request */
    bool has_asked_guard;       /* for bandwidth */
};

/* A wait for a time. Changed by requests/zero-lag-wait.c. */
struct wait {
    struct timer timer;
    bool has_said_so;           /* to the owner */
    bool patient;               /* it has waited for what others give back */
    int moments;                /* how often it has waited for others' requests */
};

/* The comment of each part names the files that change the part; request.c begins and ends all parts. test/parts checks this. */
struct request {
    struct reservation *reservation;
    struct queue *queue;        /* the queue of its user */
    struct outcome outcome;     /* what is answered */
    enum step step;
    uint64_t answer_id;         /* of a plugin or helper; 0: none is awaited */
    int64_t started;
    struct file json, tid;      /* as they were seen */
    struct spec spec;           /* what is asked for */
    bool has_spec, recorded;    /* recorded: state/ holds what holds now */
    struct inquiry inquiry;
    struct refusals refusals;
    struct hearing hearing;
    struct spare spare;
    struct activation activation;
    struct wait wait;
    TAILQ_ENTRY(request) of_turn;
    TAILQ_ENTRY(request) of_account;
    UT_hash_handle hh;          /* by answer_id, in the plugins' or the helper's table */
};

/* The helper has been told to put its thread back: nothing may be applied to that any more. */
bool request_is_detaching(const struct reservation *reservation);

struct request *request_begin(struct reservation *reservation, enum kind kind);

/* Gives back what it held, and frees it. */
void request_drop(struct request *request);

/* Under new rules: charges what the request holds beyond the grant of its reservation. */
struct acl;
void request_charge_again(struct request *request, struct acl *acl);

/* Plugins that judge one another's tasks are asked for one request at a time, from its first question until it
 * is dropped or cannot be undone any more: what is true when one of them is asked must be true when all have been,
 * and when the kernel has refused a change. False: its turn will come. */
bool turn_take(struct request *request);

/* The same for what is quickly tested, what nobody has to judge, and what would never have to come back: any number at a
 * time, but while nobody has the turn, or waits for it. */
bool turn_pass(struct request *request);
void turn_end(const struct request *request);

/* The request whose turn has come; NULL when there is none. */
struct request *turn_next(void);
bool turn_is_due(void);

/* What the owner will be told. */
void request_answer(struct request *request, enum result result, const char *format, ...) __attribute__((format(printf, 3, 4)));
void request_refuse(struct request *request, const char *by, enum why code, bool never);

/* A line in the log on how it came to the verdict. plugin: -1 for none. */
void request_event(const struct request *request, const char *stage, const char *decision, int plugin, const char *reason);

/* The reservation is known by its token from now on, and not only when it is written down. */
void request_take_token(struct request *request);

/* Writes down what holds now, once; from here on a crash finds it. False with errno. */
bool request_record(struct request *request);

/* NAME.json was written, or touched. */
bool request_is_about_its_file(const struct request *request);

/* Both return IN_PROGRESS. */
enum step_result wait_for_plugin(struct request *request, uint64_t id);
enum step_result wait_for_helper(struct request *request, uint64_t id);

/* The request that waits for this answer; NULL when none does. */
struct request *take_waiting_for_plugin(uint64_t id);
struct request *take_waiting_for_helper(uint64_t id);

#endif
