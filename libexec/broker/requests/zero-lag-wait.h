/* Requests that wait: until used CPU time is paid back (debts.h), or for other requests. */
#ifndef RTF_ZERO_LAG_WAIT_H
#define RTF_ZERO_LAG_WAIT_H

#include "request.h"

/* Call this before any request waits. `due` is called for each request whose time has come. */
void zero_lag_wait_prepare(void (*whom)(struct request *request));

/* Waits until the reservation's 0-lag time. False: that time is over. */
bool zero_lag_wait_begin(struct request *request);

/* Others are about to give back CPU time or quotas. True: this may turn the refusal into a grant,
 * and the request waits for it, once. */
bool zero_lag_wait_may_help(struct request *request);

/* Waits a moment for other requests, and is then asked again. False: the request has waited long
 * enough. */
bool zero_lag_wait_for_a_moment(struct request *request);

/* True, once for each request, if the wait is so long that the owner is to be told. */
bool zero_lag_wait_is_to_be_told(struct request *request);

/* The owner has changed the files of a request that waits. True: nothing was decided yet, and the
 * request is dropped. */
bool zero_lag_wait_cancel(struct request *request);

#endif
