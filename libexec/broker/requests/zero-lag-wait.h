/* Makes requests wait for a time. One such time is the reservation's 0-lag time (debts.h): from
 * then on, the CPU time that the reservation's former thread used no longer counts. Another is the
 * time when other reservations have given capacity back. */
#ifndef RTF_ZERO_LAG_WAIT_H
#define RTF_ZERO_LAG_WAIT_H

#include "request.h"

/* Call this before any request waits. The function calls `whom` later, for each request whose time
 * has come. */
void zero_lag_wait_prepare(void (*whom)(struct request *request));

/* Makes the request wait until the reservation's 0-lag time. False: this time is past, and the
 * request does not wait. */
bool zero_lag_wait_begin(struct request *request);

/* True: debts of other reservations end soon. Then the refused request may be granted, so it waits
 * until then. The first wait ends when the debts that are paid back by then cover the utilization
 * that the request lacks. If this was not enough, for example because the debts were on other CPUs,
 * a second wait ends when all debts are paid back that were there at the first wait. No request
 * waits for this reason a third time. */
bool zero_lag_wait_may_help(struct request *request);

/* Makes the request wait for 10 ms, because other requests are about to give capacity back; then
 * the plugins are asked again. False: the request has waited 100 times already, and does not wait
 * again. */
bool zero_lag_wait_for_a_moment(struct request *request);

/* True: the wait is at least 100 ms, so a verdict shall tell the owner of the wait. The function
 * returns true only once for each request. */
bool zero_lag_wait_is_to_be_told(struct request *request);

/* Call this when the owner has changed the files of a request that waits. True: the request had
 * decided nothing yet, and is dropped. */
bool zero_lag_wait_cancel(struct request *request);

#endif
