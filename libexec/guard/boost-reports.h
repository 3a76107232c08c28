/* Follows the kernel's reports of boosts (inheritance-events.h), and attributes each boost to its
 * lender (lending.h). */
#ifndef RTF_BOOST_REPORTS_H
#define RTF_BOOST_REPORTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "boosts.h"
#include "guarded-threads.h"

/* The guard resumes a lender at most this often to have the kernel report the lender's boosts. */
enum { REPORT_ATTEMPTS = 5 };

/* Begins to read the kernel's reports, see inheritance_events_open. `boosts_reported`: see struct
 * guarded_events. False with errno: the guard sees no boost. Called once. */
bool boost_reports_open(const char *tracepoint, int epoll, uint64_t as,
                        bool (*boosts_reported)(struct guarded *lender));

/* Reads all reports that have come. True: there was one. */
bool boost_reports_take(void);

/* From now on, boosts that the guard itself causes come from `lender`; NULL: from no guarded
 * thread. */
void boost_reports_attribute(struct guarded *lender);

/* True: a report was lost, so any sleeping thread may wait for a lock and lend without a bound.
 * `forget`: the caller now has the boosts of all threads reported again. */
bool boost_reports_were_lost(bool forget);

/* A guarded thread lends to more threads than the table of boosts has room for, so its lending
 * cannot be counted. boost_reports_overfull: there may be such a thread.
 * boost_reports_take_overfull: returns this thread, and forgets that it lends too often; NULL: there
 * is none. */
bool boost_reports_overfull(void);
struct guarded *boost_reports_take_overfull(void);

/* Looks whether a thread that the guard does not guard, and that has just become ordinary, is lent a
 * rank. */
void boost_reports_look_at(pid_t tid);

/* Returns when to look for the unknown lender of a boost; INT64_MAX: no guarded thread can be the
 * lender. */
int64_t boost_first_try(int priority, int64_t since);

/* boost_look_at: begins a boost of an unknown lender if the thread is boosted.
 * boost_goes_on: the thread still has the rank that it is lent. boost_has_other_rank: the thread
 * runs at another rank than the boost has. boosts_disown_lender: no boost comes from `lender` any
 * more; the lender of a boost that goes on is unknown from now on. */
void boost_look_at(pid_t tid, int64_t now);
bool boost_goes_on(const struct boost *boost);
bool boost_has_other_rank(const struct boost *boost);
void boosts_disown_lender(const struct guarded *lender);

/* True: the thread is SCHED_DEADLINE now, by itself. */
bool thread_is_deadline(pid_t tid);

/* The event of a SCHED_DEADLINE thread has fired. If the thread has used more than it was granted, the
 * search for a lender begins. If the thread has made itself ordinary, the guard looks whether a rank
 * is lent to it. */
void boost_reports_overuse(struct guarded *holder, int64_t now);

/* boost_watch: the guard is about to suspend possible lenders of the boost of this thread.
 * boost_was_ended: a suspension since then has ended this boost. */
void boost_watch(pid_t tid);
bool boost_was_ended(pid_t tid);

#endif
