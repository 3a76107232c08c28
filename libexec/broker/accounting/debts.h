/* Debts: CPU time that a thread has used of a reservation counts until it is paid back, under
 * SCHED_DEADLINE or if the guard enforces the runtime.
 *
 * A reservation of Q every T serves the attached thread, whichever thread that is. If the owner
 * could attach a fresh thread, or release the reservation and ask again, each time Q is used up,
 * the owner would have any number of Q in one T. A constant bandwidth server exists to prevent this
 * (paper 003, section 2). Use is paid back at the rate Q/T, counted from the end of the use: the
 * 0-lag time. Until then no fresh thread is attached to the reservation, and what the reservation
 * gives up, by a release or a change, stays in all books under a task number of its own.
 *
 * The exact use is not known. The use is at most the time since the thread was attached, and at
 * most Q and a tick, because some kernels end a runtime at a tick. Times are CLOCK_MONOTONIC,
 * ns. */
#ifndef RTF_DEBTS_H
#define RTF_DEBTS_H

#include "reservation.h"

/* True: the use of this grant has to be paid back. */
bool debt_applies(const struct grant *grant);

/* The reservation is about to lose `grant`, which the attached thread may have used. */
void debt_begin(struct reservation *reservation, const struct grant *grant);

/* The kernel counts the bandwidth of a thread that has ended, or has used up its runtime, until
 * this time at most. debt_last_in_kernel: the latest of these times. */
void debt_in_kernel(int64_t until);
/* debt_in_kernel for the reservation's thread, until its 0-lag time */
void debt_of_thread(const struct reservation *reservation);
int64_t debt_last_in_kernel(void);

/* Books as a debt the capacity that the reservation gives up and has not paid back: all of
 * `given_up`, which has just left the books, or its difference to `kept`. Takes the charge over.
 * Returns the task number of the debt; 0: nothing to pay back. The debt can be dropped until
 * debt_settle, which joins it to the record of its user, plugin and CPUs. */
uint64_t debt_keep(const struct reservation *reservation, struct grant *given_up,
                   const struct grant *kept);

void debt_settle(uint64_t task);

/* Takes an unsettled debt out of the books: the grant was not given up after all. */
void debt_drop(uint64_t task);

/* debt_feed tells a restarted plugin about all debts. debt_grant: the debt with this task number,
 * as a grant; NULL: no such debt. */
void debt_feed(int plugin);
struct grant *debt_grant(uint64_t task);

/* debt_sum: the sum of all debts, or of the debts that are charged to a user, as utilization.
 * debt_last: the last of these debts is paid back at this time or earlier. */
uint64_t debt_sum(bool by_quota);
int64_t debt_last(bool by_quota);

/* The part of the sum that belongs to a rule's counter, or with NULL to one plugin; and the time
 * when the last of this part is paid back. Slow: it looks at all debts. */
uint64_t debt_share(const struct counter *counter, int plugin, int64_t *until);

/* The number of debts. */
unsigned debt_count(void);

void debt_each(void (*each)(uint64_t task, const struct grant *grant));

/* New rules: charges under the old rules are forgotten. */
void debt_uncharge(void);

#endif
