/* NAME.verdict: what the owner is told (rtf-verdict(5)). Put in place atomically, never read back. */
#ifndef RTF_VERDICT_H
#define RTF_VERDICT_H

#include <jansson.h>

#include "reservation.h"

/* What is granted, as a verdict has it: to be given back with json_decref(), and the same object each time. NULL: out of memory. */
json_t *verdict_grant(const struct grant *grant);

/* Has the reader write what `outcome` says of the request and what holds now, which is reservation->grant and reservation->attachment. It is
 * the answer to what the reader has told of the reservation's files, or to a part of it: there is more to be answered. Where the file system does
 * not take it the reader tries again. And a line in the log, with how long it took (us; -1: that means nothing). */
void verdict_tell(struct reservation *reservation, const struct outcome *outcome, int64_t microseconds, bool answers, bool more);

/* Tells the owner that the broker stops and has put the thread back. */
void verdict_laid_down(struct reservation *reservation);

/* A verdict without a request: what holds changed, or a restart cut off the one that was due. */
void verdict_again(struct reservation *reservation, enum kind kind, const char *reason);

#endif
