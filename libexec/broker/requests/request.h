/* A request that is under way: what is known of it so far, and what it waits for. */
#ifndef RTF_REQUEST_H
#define RTF_REQUEST_H

#include <sys/queue.h>

#include "plugins.h"
#include "reservation.h"

/* What a request waits for, in the order in which it may have to; NOTHING: it is at work, or waits for its turn.
 *
 *                                   ┌──────── asked again ─────────┐
 *                                   ▼                              │
 *     ACCOUNT ──► CLAIM, each ──► ACCEPT ──► PROBE ──► JUDGE ──► SCHEDULE ──► SHAPE ──► DETACH ──► APPLY ──► BIND ──► its answer
 *                                   │ of each plugin, until one takes it        │          │
 *                                   └─────────────────► ZERO_LAG ◄──────────────┴──────────┘
 *
 * ACCOUNT: who is it? CLAIM, ACCEPT: can the plugin serve it? PROBE: or another runtime? JUDGE: can the neighbours bear it? SCHEDULE: the
 * plugin takes it into its books. DETACH, APPLY: the attach helper. SHARE, BIND: the helpers of networks and disks, where a share of one is granted. ZERO_LAG: until use is paid back; then it goes on with `then`. */
enum step { STEP_NOTHING, STEP_ACCOUNT, STEP_CLAIM, STEP_ACCEPT, STEP_PROBE, STEP_JUDGE, STEP_SCHEDULE, STEP_SHARE, STEP_DETACH, STEP_APPLY, STEP_BIND, STEP_ZERO_LAG };

/* What a stage wants to happen next; dispatch.c does it. LOOK_AGAIN: nobody asked for this, and it is not to be had any more.
 * DETACH_ON: the thread is ordinary, and can leave its domain now. */
enum next { WAIT, ASK, ENFORCE, ANSWER, RELEASED, LOOK_AGAIN, DETACH_ON };

/* What is tried for the request: claim after claim, and plugin after plugin. Only admission/ changes this. */
struct inquiry {
    const struct claim *claim;  /* the next claim on another resource than CPU time; NULL: all are held */
    struct holding *holdings;   /* what is held by now */
    uint64_t background;        /* a bit for each line that lets the reservation in without a guarantee */
    int plugin;                 /* the plugin that is asked; -1 before the first */
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

/* What speaks against the request so far: the no of a plugin, and the denial of a rule. admission/refusals.c decides which of them is told. */
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

/* What the neighbours of the plugin that offered say of the offer: admission/neighbours.c asks. */
struct hearing {
    struct grant *offer;
    int judge;                  /* the plugin that is asked */
    int objector;               /* the first plugin that said no; -1 */
    enum answer objection;
    bool never;                 /* no other reservation's end can change it */
    uint64_t bearable;          /* the runtime that all plugins that said no could bear; 0: none, or not known */
    char reason[256];
};

/* Spare capacity: admission/spare-capacity.c and admission/trial.c. */
struct spare {
    bool for_more;              /* the broker asks by itself: the reservation is to have more than it needs, */
    uint64_t most;              /* but no larger runtime than this; 0: no bound */
    enum { TRIAL_NONE, TRIAL_RUNS, TRIAL_PASSED, TRIAL_FAILED } trial;
    const struct claim *tried_from; /* the claim that was refused before the trial; NULL: it was CPU time */
    int takes;                  /* how often others have given up what they do not need */
};

/* The kernel is made to follow the grant: activation/apply-grant.c. */
struct activation {
    struct grant *old;          /* put back when the kernel refuses the change */
    uint64_t debt;              /* debt_keep of what `old` has beyond the new grant; it may be over by now */
    struct attachment *target;  /* the thread to be attached; becomes reservation->attachment */
    enum { TARGET_NEVER, TARGET_OUTLIVED, TARGET_TAKEN } why_not; /* OUTLIVED: its key names a thread of another boot; TAKEN: that can change */
    bool fresh;                 /* the thread was not attached before this request */
    bool has_asked_guard;       /* for bandwidth */
};

/* The request waits for a time: requests/zero-lag-wait.c. */
struct wait {
    struct timer timer;
    enum next then;
    bool has_said_so;           /* to the owner */
    bool patient;               /* it has waited for what others give back */
    int moments;                /* how often it has waited for others' requests */
};

/* Which part of it is whose to change, its comment says; all may read. */
struct request {
    struct reservation *reservation;
    struct queue *queue;        /* the queue of its user */
    struct outcome outcome;     /* what is answered */
    enum step step;
    uint64_t answer_id;         /* from CLAIM to BIND */
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
bool is_being_detached(const struct reservation *reservation);

struct request *request_begin(struct reservation *reservation, enum kind kind);

/* Gives back what it held, and frees it. */
void request_drop(struct request *request);

/* Plugins that judge one another's tasks are asked for one request at a time, from its first question until it
 * is dropped or cannot be undone any more: what is true when one of them is asked must be true when all have been,
 * and when the kernel has refused a change. False: its turn will come. */
bool turn_take(struct request *request);

/* The same for what is quickly tested, what nobody has to judge, and what would never have to come back: any number at a
 * time, but while nobody has the turn, or waits for it. */
bool turn_pass(struct request *request);
void turn_end(const struct request *request);

/* The request whose turn has come, to go on with ASK; NULL when there is none. */
struct request *turn_next(void);
bool turn_is_due(void);

/* What the owner will be told. */
void say(struct request *request, enum result result, const char *format, ...) __attribute__((format(printf, 3, 4)));
void blame(struct request *request, const char *by, enum why code, bool never);

/* A line in the log on how it came to the verdict. plugin: -1 for none. */
void request_event(const struct request *request, const char *stage, const char *decision, int plugin, const char *reason);

/* The reservation is known by its token from now on, and not only when it is written down. */
void request_take_token(struct request *request);

/* Writes down what holds now, once; from here on a crash finds it. False with errno. */
bool request_record(struct request *request);

/* NAME.json was written, or touched. */
bool request_is_about_its_file(const struct request *request);

/* Both return WAIT. */
enum next wait_for_plugin(struct request *request, enum step step, uint64_t id);
enum next wait_for_helper(struct request *request, enum step step, uint64_t id);

/* The request that waits for this answer, and what it has waited for; NULL when nobody does. */
struct request *take_waiting_for_plugin(uint64_t id, enum step *step);
struct request *take_waiting_for_helper(uint64_t id, enum step *step);

#endif
