/* Requests that wait for a time: for the reservation's 0-lag time (debts.h), from which on the CPU
 * time that its former thread used no longer counts; or for capacity that other reservations give
 * back. */
#ifndef RTF_ZERO_LAG_WAIT_H
#define RTF_ZERO_LAG_WAIT_H

#include "request.h"

/* Call this before any request waits. `whom` is called for each request whose time has come. */
void zero_lag_wait_prepare(void (*whom)(struct request *request));

/* Makes the request wait until the reservation's 0-lag time. False: this time is past, and the
 * request does not wait. */
bool zero_lag_wait_begin(struct request *request);

/* True: debts of other reservations end soon, which may turn the refusal into a grant, so the
 * request waits until then. Each request waits for this reason only once. */
bool zero_lag_wait_may_help(struct request *request);

/* Makes the request wait for 10 ms, because other requests are about to give capacity back; then
 * the plugins are asked again. False: the request has waited so 100 times, and waits no longer. */
bool zero_lag_wait_for_a_moment(struct request *request);

/* True, once for each request, if the wait is so long (100 ms) that a verdict shall tell the
 * owner. */
bool zero_lag_wait_is_to_be_told(struct request *request);

/* Call this when the owner has changed the files of a request that waits. True: the request had
 * decided nothing yet, and is dropped. */
bool zero_lag_wait_cancel(struct request *request);

#endif
