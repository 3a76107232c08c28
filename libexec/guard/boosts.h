/* The boosted threads, and who lends them their rank (lending.h). */
#ifndef RTF_BOOSTS_H
#define RTF_BOOSTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uthash.h>

#include "guarded-threads.h"

struct boost {
    pid_t tid;              /* the thread that is boosted */
    struct guarded *lender; /* the guarded thread that lends its rank; NULL: unknown */
    /* the lender is unknown: how often the search for it has to reach the last guarded thread (0:
     * the search has not begun), and when to go on; INT64_MAX: no more candidates */
    unsigned rounds;
    int64_t try_at;
    int priority; /* the kernel's number: 99 - rt_priority; -1 under SCHED_DEADLINE */
    int64_t since;
    TAILQ_ENTRY(boost) of_unknown;
    UT_hash_handle hh; /* by tid */
};

/* NULL: the thread is not known to be boosted. */
struct boost *boost_of(pid_t tid);

/* The others follow by hh.next; of_unknown.tqe_next; of_lenders.tqe_next. NULL: none. */
struct boost *boosts_first(void);
struct boost *boosts_first_unknown(void);
struct guarded *boosts_first_lender(void);

/* Begins a boost, in place of an earlier one of the thread. try_at: see struct boost. False: the
 * table is full, with a thousand boosts. */
bool boost_begin(pid_t tid, struct guarded *lender, int priority, int64_t since, int64_t try_at);

/* Ends the boost. Its time counts for its lender, or as time of unknown lenders
 * (rank_note_unknown). */
void boost_end(struct boost *boost, int64_t now);

/* From now on the lender is unknown. Counts the lender's time until now. */
void boost_disown(struct boost *boost, int64_t now, int64_t try_at);

/* lending_at_once: how many threads run with the lender's rank at once. lending_count brings
 * lender->lent up to now. */
int64_t lending_at_once(const struct guarded *lender);
void lending_count(struct guarded *lender, int64_t now);

#endif
