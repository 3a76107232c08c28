/* A smaller copy of a grant: what remains when others need its spare capacity
 * (desired-amounts.h). */
#ifndef RTF_LESSENED_GRANT_H
#define RTF_LESSENED_GRANT_H

#include "reservation.h"

/* The claim with another first value. */
struct claim claim_with(const struct claim *of, uint64_t first);

/* Copies of the grant, without charges: with at most its aims, and with its needs only. The caller
 * frees them. */
struct grant *grant_within_aims(const struct grant *grant);
struct grant *grant_at_least(const struct grant *grant);

#endif
