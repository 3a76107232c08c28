/* Requests that wait until what was used is paid back (debts.h). */
#ifndef RTF_ZERO_LAG_WAIT_H
#define RTF_ZERO_LAG_WAIT_H

#include "request.h"

/* Whom to tell of requests that have waited. */
void zero_lag_wait_prepare(void (*whom)(struct request *request));

/* True: the request waits until the 0-lag time of the reservation. */
bool zero_lag_wait_waits(struct request *request);

/* Whether what is about to be given back, of CPUs or of quotas, may turn the refusal of this request into a grant. True: it
 * waits for that, once. */
bool zero_lag_wait_may_help(struct request *request);

/* Others are being changed, and the request waits for them: it is asked again. False: it has waited for long enough. */
bool zero_lag_wait_for_a_moment(struct request *request);

/* The wait is so long that the owner is to be told of it. True once for each request. */
bool zero_lag_wait_is_to_be_told(struct request *request);

/* A request that waits, and whose owner has changed his mind: forgets it if nothing has been decided yet. */
bool zero_lag_wait_cancel(struct request *request);

#endif
