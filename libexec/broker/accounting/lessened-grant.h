/* A grant that has less than it has now: what remains when others need its spare capacity (desired-amounts.h). */
#ifndef RTF_LESSENED_GRANT_H
#define RTF_LESSENED_GRANT_H

#include "reservation.h"

/* A claim with so much of what it is a claim on. */
struct claim claim_with(const struct claim *of, uint64_t first);

/* Copies of the grant, which nothing is charged for: with no more than its aims, and with no more than it needs. The caller frees them. */
struct grant *grant_within_aims(const struct grant *grant);
struct grant *grant_at_least(const struct grant *grant);

#endif
