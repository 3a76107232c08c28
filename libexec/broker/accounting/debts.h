/* What a thread has used of a SCHED_DEADLINE reservation, or of one that the guard enforces, counts until it is paid back.
 *
 * A reservation of Q every T serves whoever is attached to it. If it could be handed on to a fresh thread, or be given
 * back and be asked for anew, as soon as it is used up, its owner would have Q as often as he can ask; that it gains him
 * nothing is what a constant bandwidth server is for (paper 003, section 2). Use is paid back at the rate Q/T, counted from
 * its end: the "0-lag time". Until then no fresh thread is attached to that reservation, and what it gives up, by a release or by a
 * change, stays in all books under a task number of its own.
 *
 * How much was used is not known exactly: at most as much as has passed since the thread was attached, and Q and a tick, for
 * the kernel ends a runtime only there. Times are CLOCK_MONOTONIC, ns. */
#ifndef RTF_DEBTS_H
#define RTF_DEBTS_H

#include "reservation.h"

/* Whether use of it has to be paid back. */
bool debt_applies(const struct grant *grant);

/* The attached thread may have used `grant`, and is about to be without it. */
void debt_begin(struct reservation *reservation, const struct grant *grant);

/* The kernel, too, counts the bandwidth of a thread that has ended, or had its runtime used up, until then at most. The last of all. */
void debt_in_kernel(int64_t until);
void debt_of_thread(const struct reservation *reservation); /* its thread has: until its 0-lag time */
int64_t debt_last_in_kernel(void);

/* Takes into the books what the reservation gives up of a grant that has just left them, as far as it is not paid back: all, or what
 * `kept` is less. Takes the charge over. Its number; 0: nothing. It can come back until it is settled: then it is part of the one
 * record of its user, plugin and CPUs. */
uint64_t debt_keep(const struct reservation *reservation, struct grant *given_up, const struct grant *kept);

void debt_settle(uint64_t task);

/* Out of the books, if it still is in them, and not settled: it was not given up after all. */
void debt_drop(uint64_t task);

/* A plugin that was restarted hears of what is owed. The grant of a task number; NULL: it is not one that is owed. */
void debt_feed(int plugin);
struct grant *debt_grant(uint64_t task);

/* What is owed, as utilization: all of it, or what is charged to somebody; and no later than when the last of it comes free. */
uint64_t debt_sum(bool by_quota);
int64_t debt_last(bool by_quota);

/* The part of it that a rule's sum holds, or where that is NULL one plugin; and when the last of that is paid back. For what is told: it looks at all. */
uint64_t debt_share(const struct counter *counter, int plugin, int64_t *until);

/* How many grants are owed. */
unsigned debt_count(void);

void debt_each(void (*each)(uint64_t task, const struct grant *grant));

/* There are new rules: old charges mean nothing any more. */
void debt_uncharge(void);

#endif
