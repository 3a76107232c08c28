/* What a thread has used of a SCHED_DEADLINE reservation counts until it is paid back.
 *
 * A reservation of Q every T serves whoever is attached to it. If it could be handed on to a fresh thread, or be given
 * back and be asked for anew, as soon as it is used up, its owner would have Q as often as he can ask; that it gains him
 * nothing is what a constant bandwidth server is for (paper 003, section 2). It is paid back at the latest when
 * as many periods have passed as runtimes were used, one at most: the "0-lag time". Until then no other thread is attached,
 * and what is released stays in the books: the wish rests. */
#ifndef RTF_REST_H
#define RTF_REST_H

#include "request.h"

/* The attached thread is SCHED_DEADLINE no more, as which it has used `grant`. */
void rest_begin(struct wish *wish, const struct grant *grant);

/* True: the request waits for the end of the rest, and comes back by rest_over to go on with request->rested. */
bool rest_waits(struct request *request, enum next rested);

/* The same for a request that a plugin has refused while others' capacity was about to come free: once. */
bool rest_may_help(struct request *request);

/* A request that has waited long enough; NULL when there is none. And when there will be one, CLOCK_MONOTONIC. */
struct request *rest_over(int64_t now);
int64_t rest_deadline(void);

#endif
