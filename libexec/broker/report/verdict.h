/* NAME.verdict: the answer for the owner (rtf-verdict(5)). The reader puts it in place by rename.
 * The broker never reads it. */
#ifndef RTF_VERDICT_H
#define RTF_VERDICT_H

#include <jansson.h>

#include "reservation.h"

/* The grant as a verdict has it; the same object each time; release it with json_decref(). NULL:
 * out of memory. */
json_t *verdict_grant(const struct grant *grant);

/* Has the reader write the verdict: `outcome` about the request, and the state that holds now,
 * which is reservation->grant and reservation->attachment. answers: the verdict answers the files
 * that the reader has reported; more: it answers a part of them, and another verdict follows. If
 * the file system refuses the file, the reader tries again. The log gets a line, with the time of
 * the request (us; -1: not measured). */
void verdict_tell(struct reservation *reservation, const struct outcome *outcome,
                  int64_t microseconds, bool answers, bool more);

/* Tells the owner that the broker stops and has put the thread back. */
void verdict_laid_down(struct reservation *reservation);

/* Writes a verdict without a request: the state has changed, or the earlier broker ended before it
 * wrote the verdict. */
void verdict_again(struct reservation *reservation, enum kind kind, const char *reason);

#endif
