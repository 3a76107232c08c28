/* Keeps a record of each boosted thread: a thread that holds a lock and runs with the rank (policy
 * and priority) that a waiting thread lends it (lending.h). */
#ifndef RTF_BOOSTS_H
#define RTF_BOOSTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uthash.h>

#include "guarded-threads.h"

/* So many complete searches have found no lender: the guard tries awake threads, too. */
enum { BOOST_SEARCHED = 2 };

struct boost {
    pid_t tid;              /* the thread that is boosted */
    struct guarded *lender; /* the guarded thread that lends its rank; NULL: unknown */
    /* These two count only while the lender is unknown. rounds: how often the search for the lender
     * still has to reach the last guarded thread; 0: the search has not begun. try_at: when the
     * search goes on; INT64_MAX: no candidate is left. */
    unsigned rounds;
    int64_t try_at;
    /* CPU time that a SCHED_DEADLINE thread has had beyond its grant, ns: the lender, once found, pays
     * for it. 0: no overuse was found (overuse.h) */
    int64_t over;
    unsigned searches; /* complete searches that have found no lender */
    int priority;      /* the kernel's number: 99 - rt_priority; -1 under SCHED_DEADLINE */
    int64_t since;
    TAILQ_ENTRY(boost) of_unknown;
    UT_hash_handle hh; /* by tid */
};

/* NULL: the thread is not known to be boosted. */
struct boost *boost_of(pid_t tid);

/* Each returns the first entry of a list; NULL: the list is empty. boosts_first: all boosts, linked
 * by hh.next. boosts_first_unknown: the boosts with an unknown lender, linked by of_unknown.
 * boosts_first_lender: the known lenders, linked by of_lenders. */
struct boost *boosts_first(void);
struct boost *boosts_first_unknown(void);
struct guarded *boosts_first_lender(void);

/* Begins a boost of the thread, and ends an earlier boost of the same thread. try_at: see struct
 * boost. False: the table of a thousand boosts is full. */
bool boost_begin(pid_t tid, struct guarded *lender, int priority, int64_t since, int64_t try_at);

/* Other boosts with an unknown lender are tried before this one. */
void boost_to_tail(struct boost *boost);

/* True: since the last call, boost_begin has removed a boost that a guarded thread may lend. The kernel
 * has to report the boosts again. */
bool boosts_evicted(void);

/* Ends the boost. The time of the boost counts as lent by its lender, or by unknown lenders
 * (rank_note_unknown). */
void boost_end(struct boost *boost, int64_t now);

/* Makes the lender of the boost unknown from now on. The time until now counts as lent by the
 * former lender. */
void boost_disown(struct boost *boost, int64_t now, int64_t try_at);

/* lending_at_once: how many threads run with the lender's rank at once. lending_count brings
 * lender->lent up to now. */
int64_t lending_at_once(const struct guarded *lender);
void lending_count(struct guarded *lender, int64_t now);

#endif
