/* Requests that wait until what was used is paid back (rest.h). */
#ifndef RTF_RESTING_H
#define RTF_RESTING_H

#include "request.h"

/* True: the request waits until the wish has rested, and comes back by resting_over to go on with request->rested. */
bool resting_waits(struct request *request, enum next rested);

/* Whether what is about to be given back, of CPUs or of quotas, may turn the refusal of this request into a grant. True: it
 * waits for that, once. */
bool resting_may_help(struct request *request);

/* A request that waits, and whose owner has changed his mind: forgets it if nothing has been decided yet. */
bool resting_cancel(struct request *request);

/* Those that have waited long enough, one by one; NULL at the end. */
struct request *resting_over(int64_t now);
int64_t resting_deadline(void);

#endif
