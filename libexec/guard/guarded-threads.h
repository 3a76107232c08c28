/* The real-time threads that rtf-guard guards, and the state of each.
 *
 *                  +----- guarded_resume_due, guarded_undo_suspension ----+
 *                  v                                                      |
 *     begin --> IN_FORCE -- guarded_used_up, guarded_suspend ------> SUSPENDED <-- begin
 *                  |  |                                               |  |
 *                  |  +-- guarded_lose_counter --> LOST <-------------+  |
 *                  |                                |                    |
 *                  +-- guarded_end (SCHED_DEADLINE) +--> ENDING <--------+
 *
 * guarded_begin starts in SUSPENDED if an earlier guard left the SCHED_DEADLINE thread suspended,
 * or if the thread used up its runtime in a window that is not over. guarded_resume_due leads to
 * LOST if the kernel cannot make the thread SCHED_DEADLINE before it wakes; if the kernel refuses
 * for another reason, the thread stays SUSPENDED for another period. guarded_end removes a FIFO or
 * RR thread at once; guarded_leave removes any thread. Only guarded-threads.c changes a state. */
#ifndef RTF_GUARDED_THREADS_H
#define RTF_GUARDED_THREADS_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "demote.h"
#include "process-group.h"
#include "thread.h"
#include "budget-window.h"

enum guarded_state {
    /* The thread runs as granted. */
    GUARDED_IN_FORCE,
    /* The thread, or what it lends, has used up the runtime: it is ordinary until `resume_at`. */
    GUARDED_SUSPENDED,
    /* The guard no longer learns what the thread uses, or when it wakes and can be SCHED_DEADLINE.
     * The thread is ordinary until the broker begins to guard it, or attaches it, anew. */
    GUARDED_LOST,
    /* The broker has ended guarding of a SCHED_DEADLINE thread, and the attach helper demotes
     * it. The holder of a lock that the thread waits for may keep the helper from running, so
     * the guard may still make the thread ordinary. The guard never makes it real-time. */
    GUARDED_ENDING,
};

/* All times are ns; points in time are CLOCK_MONOTONIC. */
struct guarded {
    pid_t tid;
    uint64_t started_by; /* lib/thread.h */
    int pidfd, event;    /* owned; event counts CPU time; -1: the kernel does (DEADLINE) */
    int schedstat;       /* owned: /proc/TID/schedstat, time run and waited; -1: not open */
    void *event_page;    /* owned: the mapping of `event`, two pages; or MAP_FAILED */
    enum guarded_state state;
    struct attributes granted;
    /* owned: the runtime is for all threads of the process, and `tid` is the first; or NULL */
    struct process_group *group;
    int64_t look_at; /* for threads that the first thread has started; INT64_MAX: none is known */
    /* FIFO and RR: the kernel's policy and priority at suspension; the owner may have lowered
     * them. */
    int suspended_policy, suspended_priority;
    struct window window;
    bool shortened;          /* `event` fires after the rest of a window begun earlier */
    int64_t count_at_window; /* count of `event` when the window began */
    int64_t wait_at_window;  /* time waited for a CPU until the window began */
    int64_t resume_at;       /* SUSPENDED: at counted_until or later */
    int64_t counted_until;   /* the kernel counts the former bandwidth until then; 0: no longer */
    struct overrun overrun;  /* SCHED_DEADLINE: demote.h */
    /* Lending, see lending.h. */
    int boost_count;           /* threads that run with its rank now */
    int64_t lend_window_began; /* the window for lending, one period long */
    int64_t lent_counted_to;   /* `lent` includes the time up to here */
    int64_t used_itself;       /* of the runtime, before it began to lend */
    int64_t lent;              /* in the window for lending */
    int report_attempts;  /* further attempts to have the kernel report its boosts; lending.c */
    int64_t check_at;     /* next check for a boost that the kernel did not report, */
    int64_t ran_at_check; /* and CPU time at the last check: due if it has not run since */
    TAILQ_ENTRY(guarded) of_lenders, of_ending;
    /* The next report to the broker. */
    bool suspended_for_lending;
    int64_t report_at;   /* no earlier */
    uint64_t unreported; /* suspensions since the last report */
    RB_ENTRY(guarded) of_suspended;
    UT_hash_handle hh; /* by tid */
};

/* How lending.c learns of the guarded threads. */
struct guarded_events {
    /* Boosts that the guard itself causes from now on are lent by `lender`; NULL: by no guarded
     * thread. */
    void (*attribute_boosts)(struct guarded *lender);
    /* The thread can lend from now on; with on = false: it is about to be removed. */
    void (*may_lend)(const struct guarded *lender, bool on);
    /* No boost belongs to the thread any more. */
    void (*forget)(const struct guarded *lender);
    /* The thread is in force again. False: it may lend without a report by the kernel. */
    bool (*boosts_reported)(struct guarded *lender);
};
void guarded_listen(const struct guarded_events *events);

struct guarded *guarded_find(pid_t tid); /* NULL: not guarded */
struct guarded *guarded_first(void);     /* the others by hh.next; NULL: none */

/* Begins to guard the thread of *wanted: tid, started_by, pidfd, event, granted, window.runtime,
 * window.period, group and counted_until. Takes over pidfd, event and group, also on failure. `again`: an earlier
 * guard may have left the thread suspended. NULL: the thread is not guarded; *why is the reason. */
struct guarded *guarded_begin(const struct guarded *wanted, bool again, const char **why);

/* Stops guarding. A FIFO or RR thread that is suspended is put in force. A SCHED_DEADLINE thread
 * is ENDING; it is ordinary if it lends, was suspended, or has overrun. The use of the present
 * window is remembered until the window is over, so that ending and beginning again gains
 * nothing. */
void guarded_end(struct guarded *guarded);

/* Removes ENDING threads that are not SCHED_DEADLINE any more, or have ended. */
void guarded_forget_ended(void);

/* The guard stops: removes the thread, and leaves it in force. A thread that lends, or would
 * lend once in force, is left ordinary: until the next guard starts, nothing would bound what it
 * lends. */
void guarded_leave(struct guarded *guarded);

/* `event` has fired: the thread has used one runtime, or more. */
void guarded_used_up(struct guarded *guarded, int64_t now);

/* The first thread has started others: they are real-time at guarded_next_start or soon after. */
void guarded_started(struct guarded *guarded, int64_t now);
/* Returns a thread whose new threads have been looked for: listen for further ones. NULL: no more. */
struct guarded *guarded_start_due(int64_t now);
int64_t guarded_next_start(void);

/* CPU time that the thread has had since its start, ns; -1: unknown. */
int64_t guarded_ran(struct guarded *guarded);

/* CPU time that the thread has used of the present window, ns; 0: none, or unknown. */
int64_t guarded_used_in_window(const struct guarded *guarded, int64_t now);

/* Makes an IN_FORCE thread ordinary until `until`. Makes an ENDING thread ordinary; it stays so. */
void guarded_suspend(struct guarded *guarded, int64_t until);

/* Takes a suspension back without a report to the broker. The thread is in force again as soon
 * as the kernel no longer counts its former bandwidth. */
void guarded_undo_suspension(struct guarded *guarded);

/* Makes a sleeping thread ordinary and real-time again; the thread does not notice. If it waits
 * for a lock, the kernel then reports anew whom it boosts. A thread that is awake is left alone. */
void guarded_renew_boosts(struct guarded *guarded);

/* `event` counts no more. True: the thread was guarded and lives; it is LOST, tell the broker. */
bool guarded_lose_counter(struct guarded *guarded);

/* Puts the suspended threads in force whose time has come. Returns a thread that is LOST because it
 * sleeps; call again then. NULL: no more. */
struct guarded *guarded_resume_due(int64_t now);
/* When guarded_resume_due has something to do; INT64_MAX: never. */
int64_t guarded_next_resume(void);

#endif
