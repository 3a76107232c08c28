/* The real-time threads that rtf-guard guards (holds to their runtimes), and the state of each
 * thread.
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
 * LOST if the kernel cannot make the sleeping thread SCHED_DEADLINE before it wakes; if the kernel
 * refuses for another reason, the thread stays SUSPENDED for another period. guarded_end removes a
 * FIFO or RR thread at once; guarded_leave removes any thread. Only guarded-threads.c changes a
 * state. */
#ifndef RTF_GUARDED_THREADS_H
#define RTF_GUARDED_THREADS_H

#include <bsd/sys/tree.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "demote.h"
#include "overuse.h"
#include "process-group.h"
#include "thread.h"
#include "overrun-window.h"

enum guarded_state {
    /* The thread runs as granted. */
    GUARDED_IN_FORCE,
    /* The thread has used up its runtime, itself or by lending it (lending.h), and is ordinary
     * until `resume_at`. */
    GUARDED_SUSPENDED,
    /* The guard no longer learns how much CPU time the thread uses, or when the sleeping thread
     * wakes and can be SCHED_DEADLINE again. The thread is ordinary until the broker has it guarded
     * or attached again. */
    GUARDED_LOST,
    /* The broker has ended the guarding of a SCHED_DEADLINE thread, and the attach helper makes the
     * thread ordinary. The holder of a lock that the thread waits for may keep the helper from
     * running, so the guard may still make the thread ordinary. The guard never makes the thread
     * real-time again. */
    GUARDED_ENDING,
};

/* All times are ns; points in time are CLOCK_MONOTONIC. */
struct guarded {
    pid_t tid;
    uint64_t started_by; /* lib/thread.h */
    /* owned by this struct. event: counts the CPU time; -1: no event, because the kernel itself
     * bounds the CPU time of a SCHED_DEADLINE thread that holds no lock (guarded_holds) */
    int pidfd, event;
    /* owned by this struct: the file /proc/TID/schedstat, which says how long the thread has run
     * and waited; -1: not open */
    int schedstat;
    /* owned by this struct: the mapping of `event`, two pages; or MAP_FAILED */
    void *event_page;
    enum guarded_state state;
    struct attributes granted;
    /* owned by this struct. NULL: the runtime is for this thread alone; else the runtime is for all
     * threads of the process whose first thread is `tid` */
    struct process_group *group;
    int64_t others;  /* the number of members of the group besides the first thread */
    int64_t look_at; /* when to look for new threads of the process; INT64_MAX: never */
    /* FIFO and RR: the thread's policy and priority at the last suspension, as the kernel's
     * numbers. They may be lower than granted, because the owner may have lowered them. */
    int suspended_policy, suspended_priority;
    struct window window;
    /* `event` fires next after the rest of the runtime: the thread had used a part of the runtime
     * before it was guarded again */
    bool shortened;
    int64_t count_at_window; /* count of `event` when the window began */
    int64_t wait_at_window;  /* time waited for a CPU until the window began */
    bool is_lowered; /* between guarded_lower and guarded_raise: the thread itself is lowered */
    int64_t suspension_took, resumption_took; /* how long the guard needed the last time */
    /* SUSPENDED: when the thread runs as granted again; not before counted_until */
    int64_t resume_at;
    /* until this time the kernel counts the bandwidth that the thread had under SCHED_DEADLINE; 0:
     * it counts none */
    int64_t counted_until;
    struct overrun overrun; /* SCHED_DEADLINE: the overrun at the last suspension (demote.h) */
    /* Lending, see lending.h. */
    int boost_count;           /* threads that run with this thread's rank now */
    int64_t lend_window_began; /* the window for lending, one period long */
    int64_t lent_counted_to;   /* `lent` includes the time up to here */
    int64_t used_itself;       /* CPU time that the thread used in its window before it lent */
    int64_t lent;              /* time lent in the window for lending */
    bool lends_too_often;      /* to more threads than boosts.c can count; to be suspended soon */
    /* The search for a lender (lender-search.c) has seen this CPU time first at still_since, ns. */
    int64_t ran_at_search, still_since;
    /* SCHED_DEADLINE: the thread that it waits for, as far as the reports show, and how many locks
     * that thread had given back then; 0: none */
    pid_t waits_for;
    unsigned waits_since;
    unsigned gifts;         /* SCHED_DEADLINE: how often this thread has given back a lock */
    bool holds;             /* SCHED_DEADLINE: another thread has waited for this thread */
    bool asks_for_event;    /* the broker has to be asked for `event` */
    bool ends_reclaim;      /* the reclaiming has to end, see guarded_end_reclaims */
    struct overuse overuse; /* SCHED_DEADLINE: counted if `holds` */
    int report_attempts;    /* how often to try again to have the kernel report a boost */
    int64_t check_at;       /* next check for a boost that the kernel did not report */
    int64_t ran_at_check; /* CPU time at the last check, to see whether the thread has run since */
    TAILQ_ENTRY(guarded) of_lenders, of_ending;
    /* The next report to the broker. */
    bool suspended_for_lending;
    int64_t report_at;   /* the earliest time of the report */
    uint64_t unreported; /* suspensions since the last report */
    RB_ENTRY(guarded) of_suspended;
    UT_hash_handle hh; /* by tid */
};

/* How boost-reports.c learns of the guarded threads. */
struct guarded_events {
    /* From now on, boosts that the guard itself causes come from `lender`; NULL: from no guarded
     * thread. */
    void (*attribute_boosts)(struct guarded *lender);
    /* The thread can lend from now on; on = false: the thread is about to be removed. */
    void (*may_lend)(struct guarded *lender, bool on);
    /* No boost comes from `lender` any more. */
    void (*forget)(const struct guarded *lender);
    /* The guard has made this thread, or this member of a group, ordinary. */
    void (*made_ordinary)(pid_t tid);
    /* Called when a suspended thread runs as granted again. False: the thread may lend its rank
     * although the kernel has reported no boost. */
    bool (*boosts_reported)(struct guarded *lender);
};
void guarded_listen(const struct guarded_events *events);

/* Whether the thread runs on a CPU at this moment. UNKNOWN: the guard has no event of the thread. */
enum guarded_run { GUARDED_RUN_UNKNOWN, GUARDED_RUNS, GUARDED_RUNS_NOT };
enum guarded_run guarded_run(struct guarded *guarded);

/* True: the kernel has throttled the SCHED_DEADLINE thread until its next period, because the thread
 * has used up its runtime, or has woken after its deadline. The thread may be awake, but does not run
 * until then. So it waits for a lock as before, and lends, even if a signal or a timeout has woken
 * it. */
bool guarded_is_throttled(const struct guarded *guarded);

struct guarded *guarded_find(pid_t tid); /* NULL: not guarded */
struct guarded *guarded_first(void);     /* the others follow by hh.next; NULL: none */

/* Begins to guard a thread. Reads from *wanted: tid, started_by, pidfd, event, granted,
 * window.runtime, window.period, group and counted_until. Takes over pidfd, event and group, also
 * on failure. `again`: an earlier guard may have left the thread suspended. NULL: the thread is not
 * guarded; *why is the reason. */
struct guarded *guarded_begin(const struct guarded *wanted, bool again, const char **why);

/* Stops guarding. Resumes a suspended FIFO or RR thread. `detaches`: the attach helper detaches the
 * thread next, so a FIFO or RR thread is made ordinary instead, with all members of its group. A
 * SCHED_DEADLINE thread goes to ENDING, and is ordinary if it lends, was suspended, or has overrun
 * its runtime. Until the end of the present window the guard remembers how much of the runtime the
 * thread has used, so that a thread gains nothing when guarding ends and begins again. */
void guarded_end(struct guarded *guarded, bool detaches);

/* Removes ENDING threads that are not SCHED_DEADLINE any more, or have ended. */
void guarded_forget_ended(void);

/* Removes the thread because the guard stops. The thread stays real-time. Only a thread that lends
 * its rank, or would lend its rank when it is real-time again, is left ordinary. Until the next
 * guard starts, nothing would bound the time that this thread lends. */
void guarded_leave(struct guarded *guarded);

/* guarded_lower lowers the priority of a FIFO or RR thread by one if `own` is true and the thread has
 * this priority (thread-rank.h). Lowers the members of its group that have this priority, too; with
 * awake_members also members that do not sleep. guarded_raise restores all of them. Both return true
 * if something is lowered. Call guarded_raise in any case, and before any other change of the
 * thread. */
bool guarded_lower(struct guarded *guarded, int priority, bool own, bool awake_members);
bool guarded_raise(struct guarded *guarded);

/* `event` has fired: the thread has used one runtime, or more. */
void guarded_used_up(struct guarded *guarded, int64_t now);

/* Another thread has waited for a lock of this SCHED_DEADLINE thread. From now on the guard counts the
 * CPU time of the thread, because the kernel does not throttle a thread that is lent SCHED_DEADLINE,
 * and does not report each loan (overuse.h). guarded_next_holder: returns a thread for which the
 * broker has to be asked for an event that fires after each two runtimes of the thread, or after each
 * 20 ms of its CPU time if two runtimes are longer; NULL: none. guarded_is_counted: the guard has this
 * event. */
void guarded_holds(struct guarded *guarded, int64_t now);

/* guarded_end_reclaims ends the reclaiming (attributes.reclaim) of each thread for which
 * guarded_waited_for or guarded_holds was called, as long as the thread is guarded. The CPU time of a
 * thread that reclaims does not show whether others lend to the thread, because the thread may have
 * more than its grant without any loan. Without reclaiming, what it has beyond its grant is lent. */
void guarded_waited_for(struct guarded *guarded);
void guarded_end_reclaims(void);
struct guarded *guarded_next_holder(void);
bool guarded_is_counted(const struct guarded *guarded);

/* guarded_overuse: returns the CPU time beyond the grant, ns; 0: none, or not counted. lent,
 * guarded_pay: see overuse.h. */
int64_t guarded_overuse(struct guarded *guarded, int64_t now, int64_t lent);
void guarded_pay(struct guarded *guarded, int64_t now, int64_t time);

/* The process has started threads: the guard makes them real-time at
 * guarded_next_start or soon after. */
void guarded_started(struct guarded *guarded, int64_t now);
/* Makes the new threads of one process real-time, and returns the first thread of this process. The
 * caller then listens for further new threads. NULL: no process is due. */
struct guarded *guarded_start_due(int64_t now);
int64_t guarded_next_start(void);

/* CPU time that the thread has had since its start, ns; -1: unknown. */
int64_t guarded_ran(struct guarded *guarded);

/* CPU time that the thread has used in the present window, ns; 0: none, or unknown. */
int64_t guarded_used_in_window(const struct guarded *guarded, int64_t now);

/* Makes an IN_FORCE thread ordinary until `until`. An ENDING thread becomes and stays ordinary. */
void guarded_suspend(struct guarded *guarded, int64_t until);

/* Cancels a suspension without a report to the broker. The thread runs as granted again as soon as
 * the kernel no longer counts the bandwidth that the thread had. */
void guarded_undo_suspension(struct guarded *guarded);

/* Makes a sleeping thread ordinary and then real-time again; the thread does not notice. If the
 * thread waits for a lock, the kernel then reports again which thread is boosted. Does nothing to a
 * thread that is awake. */
void guarded_renew_boosts(struct guarded *guarded);

/* Called when `event` counts no more. True: the thread was guarded and has not ended; it is LOST
 * now, and the caller tells the broker. */
bool guarded_lose_counter(struct guarded *guarded);

/* Resumes all threads whose suspension is over at `now`: they run as granted again. Returns a
 * thread that has become LOST, because it sleeps and the kernel cannot make it SCHED_DEADLINE
 * before it wakes. The caller then tells the broker and calls this function again. NULL: no other
 * suspension is over. */
struct guarded *guarded_resume_due(int64_t now);
/* When guarded_resume_due has something to do; INT64_MAX: never. */
int64_t guarded_next_resume(void);

#endif
