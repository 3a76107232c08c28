/* What a thread has used of a SCHED_DEADLINE reservation, or of one that the guard enforces, counts until it is paid back.
 *
 * A reservation of Q every T serves whoever is attached to it. If it could be handed on to a fresh thread, or be given
 * back and be asked for anew, as soon as it is used up, its owner would have Q as often as he can ask; that it gains him
 * nothing is what a constant bandwidth server is for (paper 003, section 2). Use is paid back at the rate Q/T, counted from
 * its end: the "0-lag time". Until then no fresh thread is attached to that wish, and what it gives up, by a release or by a
 * change, stays in all books under a task number of its own.
 *
 * How much was used is not known exactly: at most as much as has passed since the thread was attached, and Q and a tick, for
 * the kernel ends a runtime only there. Times are CLOCK_MONOTONIC, ns. */
#ifndef RTF_REST_H
#define RTF_REST_H

#include "request.h"

/* Whether use of it has to be paid back. */
bool rest_applies(const struct grant *grant);

/* The attached thread may have used `grant`, and is about to be without it. */
void rest_begin(struct wish *wish, const struct grant *grant);

/* The kernel, too, counts the bandwidth of a thread that has ended, or had its runtime used up, until then at most. The last of all. */
void rest_in_kernel(int64_t until);
void rest_of_thread(const struct wish *wish); /* its thread has: until it has rested */
int64_t rest_last_in_kernel(void);

/* True: the request waits until the wish has rested, and comes back by rest_over to go on with request->rested. */
bool rest_waits(struct request *request, enum next rested);

/* Takes into the books what the wish gives up of a grant that has just left them, as far as it is not paid back: all, or what
 * `kept` is less. Takes the charge over. Its number; 0: nothing. It can come back until it is settled: then it is part of the one
 * record of its user, plugin and CPUs. */
uint64_t rest_keep(const struct wish *wish, struct grant *given_up, const struct grant *kept);

void rest_settle(uint64_t task);

/* Out of the books, if it still is in them, and not settled: it was not given up after all. */
void rest_drop(uint64_t task);

/* Whether what is about to be given back, of CPUs or of quotas, may turn the refusal of this request into a grant. True: it
 * waits for that, once. */
bool rest_may_help(struct request *request);

/* A request that waits, and whose owner has changed his mind: forgets it if nothing has been decided yet. */
bool rest_cancel(struct request *request);

/* Gives back what has been paid back; then the requests that have waited long enough, one by one, NULL at the end. */
void rest_expire(int64_t now);
struct request *rest_over(int64_t now);
int64_t rest_deadline(void);

/* A plugin that was restarted hears of what rests. The grant of a task number; NULL: it is not one that rests. */
void rest_feed(int plugin);
struct grant *rest_grant(uint64_t task);

/* How many grants in the books rest. */
unsigned rest_count(void);

void rest_each(void (*each)(uint64_t task, const struct grant *grant));

/* There are new rules: old charges mean nothing any more. */
void rest_uncharge(void);

#endif
