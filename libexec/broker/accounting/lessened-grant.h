/* Makes smaller copies of a grant. A smaller copy replaces the grant when other reservations need
 * the spare capacity of the grant (desired-amounts.h). */
#ifndef RTF_LESSENED_GRANT_H
#define RTF_LESSENED_GRANT_H

#include "reservation.h"

/* Returns a copy of the claim with `first` as its amount. The claim's need stays. */
struct claim claim_with(const struct claim *of, uint64_t first);

/* Return copies of the grant, without charges. grant_within_aims: no amount is above its aim, the
 * amount that desired-amounts.h has computed. grant_at_least: all amounts are the needs of the
 * spec. The caller frees the copies. */
struct grant *grant_within_aims(const struct grant *grant);
struct grant *grant_at_least(const struct grant *grant);

#endif
