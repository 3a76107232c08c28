/* A debt is CPU time that a thread has used of a reservation, and that counts until it is paid
 * back. Debts exist under SCHED_DEADLINE, and where the guard enforces the runtime.
 *
 * A reservation of the runtime Q in each period T serves the attached thread, whichever thread this
 * is. Suppose that the owner attaches a fresh thread, or releases the reservation and asks again,
 * each time Q is used up: then the owner would get the runtime Q any number of times in one period
 * T. A constant bandwidth server exists to prevent this (paper 003, section 2). Used CPU time is
 * paid back at the rate Q/T, counted from the end of the use. All used CPU time is paid back at the
 * 0-lag time. Until then no fresh thread is attached to the reservation. If the reservation gives
 * up capacity before this time, by a release or a change, the capacity stays in all books
 * (accounting.h) until then, under a task number of its own.
 *
 * The broker does not know the exact use. It takes the time since the thread was attached, but at
 * most Q and a tick, because some kernels end a runtime only at a tick. Times are CLOCK_MONOTONIC,
 * ns. */
#ifndef RTF_DEBTS_H
#define RTF_DEBTS_H

#include "reservation.h"

/* True: CPU time that is used of this grant has to be paid back. */
bool debt_applies(const struct grant *grant);

/* Call this when the reservation is about to lose `grant`, which the attached thread may have used.
 * Moves the reservation's 0-lag time. */
void debt_begin(struct reservation *reservation, const struct grant *grant);

/* debt_in_kernel notes a time until which the kernel may count the bandwidth of a thread that has
 * ended or has used up its runtime. debt_last_in_kernel returns the latest noted time. */
void debt_in_kernel(int64_t until);
/* Calls debt_in_kernel for the reservation's thread with its 0-lag time, under SCHED_DEADLINE. */
void debt_of_thread(const struct reservation *reservation);
int64_t debt_last_in_kernel(void);

/* Enters into the books, as a debt, the capacity that the reservation gives up and has not paid
 * back. `given_up` is the grant that has just left the books. `kept` is the new grant; the debt is
 * then the difference of the two grants. NULL: the reservation gives up all of `given_up`. Takes
 * the charge of `given_up` over. Returns the task number of the debt; 0: nothing to pay back. Until
 * debt_settle is called, debt_drop can undo this entry. */
uint64_t debt_keep(const struct reservation *reservation, struct grant *given_up,
                   const struct grant *kept);

/* Call this when the change that made the debt cannot be undone any more. Joins the debt to earlier
 * debts of the reservation on the same plugin and CPUs. */
void debt_settle(uint64_t task);

/* Takes a debt that is not settled out of the books, because the grant was not given up after
 * all. */
void debt_drop(uint64_t task);

/* debt_feed tells a restarted plugin about all debts. debt_grant returns the debt with this task
 * number, as a grant; NULL: no such debt. */
void debt_feed(int plugin);
struct grant *debt_grant(uint64_t task);

/* debt_sum returns the utilization of all debts together. by_quota: only the debts that are charged
 * to counters of rules (acl.h) count. debt_last returns a time when all debts of this sum are paid
 * back; debt_enough returns a time when debts with this much utilization are paid back, no later
 * than debt_last. */
uint64_t debt_sum(bool by_quota);
int64_t debt_last(bool by_quota);
int64_t debt_enough(bool by_quota, uint64_t utilization);

/* Returns the part of debt_sum that is charged to this counter, or, if counter is NULL, that
 * belongs to this plugin. *until: the time when all of this part is paid back. Slow, because it
 * looks at all debts. */
uint64_t debt_share(const struct counter *counter, int plugin, int64_t *until);

/* The number of debts. */
unsigned debt_count(void);

void debt_each(void (*each)(uint64_t task, const struct grant *grant));

/* Call this when the rules change. The charges of debts under the old rules are forgotten. */
void debt_uncharge(void);

#endif
