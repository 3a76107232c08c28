/* NAME.verdict: the answer for the owner (rtf-verdict(5)). The reader writes another file and
 * renames it to NAME.verdict. The broker never reads this file. */
#ifndef RTF_VERDICT_H
#define RTF_VERDICT_H

#include <jansson.h>

#include "reservation.h"

/* Returns the grant in the form that verdicts have. Each call fills and returns the same object.
 * Release the object with json_decref(). NULL: out of memory. */
json_t *verdict_grant(const struct grant *grant);

/* Has the reader write the verdict, which has the outcome of the request, reservation->grant and
 * reservation->attachment. answers: the verdict answers the files that the reader has reported;
 * more: the verdict answers only some of these files, and another verdict follows. If the file
 * system refuses the file, the reader tries again. The log gets a line with the duration of the
 * request (us; -1: not measured). */
void verdict_tell(struct reservation *reservation, const struct outcome *outcome,
                  int64_t microseconds, bool answers, bool more);

/* Tells the owner that the broker stops, and that the thread has its former attributes again. */
void verdict_laid_down(struct reservation *reservation);

/* Has a verdict written without a request, because the state has changed, or because the earlier
 * broker ended before the verdict was written. */
void verdict_again(struct reservation *reservation, enum kind kind, const char *reason);

#endif
