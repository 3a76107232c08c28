/* A debt is CPU time that a thread has used of a reservation, and that counts until it is paid
 * back. Debts exist under SCHED_DEADLINE, and where the guard enforces the runtime.
 *
 * A reservation of Q every T serves the attached thread, whichever thread that is. Suppose that the
 * owner attaches a fresh thread, or releases the reservation and asks again, each time Q is used
 * up: then the owner would have any number of Q in one T. A constant bandwidth server exists to
 * prevent this (paper 003, section 2). Used CPU time is paid back at the rate Q/T, counted from the
 * end of the use. It is all paid back at the 0-lag time. Until then no fresh thread is attached to
 * the reservation. Until then also, capacity that the reservation gives up, by a release or a
 * change, stays in all books (accounting.h) under a task number of its own.
 *
 * The exact use is not known. The use is at most the time since the thread was attached, and at
 * most Q and a tick, because some kernels end a runtime at a tick. Times are CLOCK_MONOTONIC,
 * ns. */
#ifndef RTF_DEBTS_H
#define RTF_DEBTS_H

#include "reservation.h"

/* True: CPU time that is used of this grant has to be paid back. */
bool debt_applies(const struct grant *grant);

/* Call this when the reservation is about to lose `grant`, which the attached thread may have used.
 * Moves the reservation's 0-lag time. */
void debt_begin(struct reservation *reservation, const struct grant *grant);

/* debt_in_kernel notes that the kernel counts the bandwidth of a thread, which has ended or has
 * used up its runtime, until this time at most. debt_last_in_kernel returns the latest noted
 * time. */
void debt_in_kernel(int64_t until);
/* Calls debt_in_kernel for the reservation's thread with its 0-lag time, under SCHED_DEADLINE. */
void debt_of_thread(const struct reservation *reservation);
int64_t debt_last_in_kernel(void);

/* Enters into the books, as a debt, the capacity that the reservation gives up and has not paid
 * back. That is all of `given_up`, which has just left the books, or its difference to `kept`.
 * Takes the charge of `given_up` over. Returns the task number of the debt; 0: nothing to pay back.
 * Until debt_settle, debt_drop can undo this. */
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

/* debt_sum: the utilization of all debts together; by_quota: only of the debts that are charged to
 * counters of rules (acl.h). debt_last: a time when all debts of this sum are paid back. */
uint64_t debt_sum(bool by_quota);
int64_t debt_last(bool by_quota);

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
