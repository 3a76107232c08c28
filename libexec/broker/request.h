/* A request that is under way; order.c's. */
#ifndef RTF_REQUEST_H
#define RTF_REQUEST_H

#include <sys/queue.h>

#include "plugins.h"
#include "spool.h"
#include "wish.h"

/* What an answer that is waited for will be about. */
enum step { STEP_ACCOUNT, STEP_ACCEPT, STEP_PROBE, STEP_SCHEDULE, STEP_DETACH, STEP_APPLY };

struct request {
    struct wish *wish;
    struct outcome outcome;
    enum step step;
    bool waiting;               /* in the table of answers that are waited for */
    uint64_t answer_id;
    int64_t started;
    struct file json, tid;      /* held open until the verdict is in place: their closing tells the owner */
    struct spec spec;
    bool has_spec, recorded;    /* recorded: state/ holds what holds now */

    /* asking */
    int plugin;                 /* the one that is asked; -1 before the first */
    bool retried, commit, denied, no_never;
    uint64_t ceiling;           /* the rules' bound on the runtime, for the plugin that is asked */
    struct charge hold;         /* charged while it is asked */
    struct grant *partial;      /* the first that was offered in part, with its charge */
    struct refusal denial;      /* the rules' first no */
    char denial_reason[REASON_BYTES], no_reason[REASON_BYTES];
    int no_plugin;              /* whose no is told */
    uint64_t nearest;

    /* enforcing */
    struct grant *old;          /* put back when the kernel refuses the change */
    struct attachment *target;  /* the thread to be attached; becomes wish->attachment */
    TAILQ_ENTRY(request) of_account;
    UT_hash_handle hh;          /* by answer_id, in the plugins' or the helper's table */
};

#endif
