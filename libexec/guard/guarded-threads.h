/* The threads that rtf-guard has an eye on. Each is in one of the states below, and only here does it change between them. */
#ifndef RTF_GUARDED_THREADS_H
#define RTF_GUARDED_THREADS_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "demote.h"
#include "thread.h"
#include "budget-window.h"

enum guarded_state {
    GUARDED_IN_FORCE,  /* it runs as granted */
    GUARDED_SUSPENDED, /* its runtime is used up: ordinary until the next window begins */
    GUARDED_LOST,      /* nothing tells any more what it uses, or when it wakes, and only then it can be in force: ordinary until the broker has it
                        * guarded, or attached, anew */
    GUARDED_LEAVING,   /* SCHED_DEADLINE and let go: the attach helper has it in hand, and who is lent its rank may keep that from running. It may
                        * still be made ordinary, but never real-time */
};

struct guarded {
    pid_t tid;
    uint64_t started_by;
    int pidfd, event; /* event: of its CPU time; -1: SCHED_DEADLINE, which the kernel accounts */
    int stat;             /* of what it has run and waited; -1 */
    void *page;
    enum guarded_state state;
    struct attributes granted;
    int policy, priority; /* FIFO and RR: what it had when it was suspended, for its owner may have lowered it */
    struct window window;
    bool shortened;       /* `event` tells of what was left of a window that had begun before */
    int64_t base;         /* the count of `event` when the window began, ns */
    int64_t waited;       /* what it had waited for its CPU by then, ns */
    int64_t until;        /* SUSPENDED: until then, */
    int64_t counted;      /* which is not before the kernel ceases to count what it had; */
    struct overrun overrun; /* SCHED_DEADLINE: what it had overrun then */
    int lends;            /* lending.h: to so many, now; */
    int64_t lends_from;   /* its window for that; */
    int64_t lends_since;  /* counted up to then */
    int64_t own;          /* of the runtime, itself, before it began to lend; ns */
    int64_t lent;         /* in that window; ns */
    int lends_again;      /* suspended while it lent: will, when it is put in force, and so often it is tried until the kernel tells of that; */
    int64_t ask_at;       /* from then on it is looked whether it lends what the kernel did not tell of, if it has run no more than */
    int64_t had_run;      /* that, ns */
    bool has_lent;        /* suspended for that, and not told yet */
    TAILQ_ENTRY(guarded) of_lenders, of_leaving;
    int64_t tell_at;      /* the broker is not told before that */
    uint64_t untold;      /* how often it was suspended since it was told */
    RB_ENTRY(guarded) of_suspended;
    UT_hash_handle hh; /* by tid */
};

/* Who counts what is lent hears of those that may lend. */
struct guarded_events {
    void (*by)(struct guarded *lender);                  /* what is lent from now on is lent by this one; NULL: by whoever the kernel names */
    void (*may_lend)(const struct guarded *lender, bool on); /* it has come, or is about to go */
    void (*forget)(const struct guarded *lender);
    bool (*has_told)(struct guarded *lender);            /* it is in force again. False: what it lends by that is not known */
};
void guarded_listen(const struct guarded_events *events);

struct guarded *guarded_find(pid_t tid);
struct guarded *guarded_first(void);

/* Of the argument: who it is, its descriptors, which are taken over, what is granted, and runtime and period. `again`: it may have been left
 * suspended. NULL: nothing can be promised; *why. */
struct guarded *guarded_begin(const struct guarded *wanted, bool again, const char **why);

/* Let go; FIFO and RR in force, if they were suspended; SCHED_DEADLINE is LEAVING, and ordinary if it lends or was suspended. What it has used of
 * its window is remembered till that is over: nobody gains by being let go and taken up again. */
void guarded_end(struct guarded *guarded);

/* LEAVING, and not SCHED_DEADLINE by now: forgotten. */
void guarded_forget_leaving(void);

/* In force, and forgotten: nobody has it in hand. But one that waits for a lock is ordinary, for it would lend without a bound until there is a guard
 * again. */
void guarded_leave(struct guarded *guarded);

/* Its event says that a runtime has been used. */
void guarded_used_up(struct guarded *guarded, int64_t now);

/* CPU time that it has had, ns; -1: that cannot be told. */
int64_t guarded_ran(struct guarded *guarded);

/* What it has had of a window that is not over, ns; 0: that cannot be told. */
int64_t guarded_used(const struct guarded *guarded, int64_t now);

/* Ordinary until then; LEAVING: for good. */
void guarded_suspend(struct guarded *guarded, int64_t until);

/* In force again, as if nothing had been, or as soon as the kernel does not count any more what it had. */
void guarded_pardon(struct guarded *guarded);

/* If it sleeps: ordinary and real-time again, which it does not notice. Who waits for a lock has the kernel tell anew by that whom it lends to. */
void guarded_ask(struct guarded *guarded);

/* Nothing counts for it any more, though it may go on. True: it does, and the broker has to hear of it. */
bool guarded_lost(struct guarded *guarded);

/* Those whose next window has begun are in force again, or LOST because they sleep: that one is returned, and there may be more. NULL: no more. */
struct guarded *guarded_resume(int64_t now);
/* When there is something to resume; INT64_MAX: never. */
int64_t guarded_deadline(void);

#endif
