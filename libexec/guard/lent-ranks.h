/* Records which guarded threads can lend a rank (policy and priority), and for how long unknown
 * lenders have boosted threads (lending.h).
 *
 * The owner of a FIFO or RR thread may lower its priority, so the thread can lend each rank from the
 * granted one down to the lowest real-time rank. */
#ifndef RTF_LENT_RANKS_H
#define RTF_LENT_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "guarded-threads.h"
#include "thread-rank.h"

int rank_granted(const struct guarded *guarded);

/* True: the thread, or a member of its group, may lend this priority now. */
bool rank_may_be_lent(const struct guarded *guarded, int priority);

/* Call this when a thread can lend from now on; on = false: when it is removed. */
void ranks_note(const struct guarded *guarded, bool on);

/* The shortest runtime of the guarded threads that can lend this priority, ns; 0: there are none. */
int64_t rank_shortest_runtime(int priority);

/* True: some guarded thread is SCHED_DEADLINE. */
bool ranks_have_deadline(void);

/* Notes that a thread was boosted to this priority by an unknown lender for `time` ns. The sum of
 * these times is kept for the longest period of all possible lenders, because a lender may lend for
 * a short time again and again. rank_unknown_time returns this sum, for all threads that were
 * boosted to a priority of this kind (SCHED_DEADLINE, or FIFO and RR). */
void rank_note_unknown(int priority, int64_t time, int64_t now);
int64_t rank_unknown_time(int priority, int64_t now);

/* Sets the sum to 0. Call this when the search has shown that no guarded thread is the lender. */
void rank_forget_unknown(int priority);

#endif
